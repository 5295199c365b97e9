// `npm run docs`: writes the pages that are made from the code. The same test fails while one of them is stale.
import { jest } from './jest.mjs';
import { afterSetUp } from './setup.mjs';

await afterSetUp(() => jest(['test/docs'], { WRITE_DOCS: '1' }));
