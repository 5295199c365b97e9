'use strict';
// TypeScript sources import `./x.js` (the emitted name); under Jest the file is `./x.ts`.
const { sep } = require('node:path');
const NODE_MODULES = `${sep}node_modules${sep}`;
module.exports = {
  sync(request, options) {
    if (request.startsWith('.') && request.endsWith('.js') && !options.basedir.includes(NODE_MODULES)) {
      try {
        return options.defaultResolver(`${request.slice(0, -3)}.ts`, options);
      } catch {
        // a real .js file
      }
    }
    return options.defaultResolver(request, options);
  },
};
