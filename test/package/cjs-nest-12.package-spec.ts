import { consumerTests } from './consumer-tests.js';

consumerTests({ nest: 12, type: 'commonjs', more: ['@nestjs/terminus', '@opentelemetry/api'] });
