import { consumerTests } from './consumer-tests.js';

consumerTests({ nest: 11, type: 'commonjs' });
