export { SpritesAdapter } from './sprites.adapter.js';
export { SpritesOptions } from './sprites.options.js';
