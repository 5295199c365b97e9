import { consumerTests } from './consumer-tests.js';

consumerTests({ nest: 12, type: 'module' });
