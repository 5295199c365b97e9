const swc = {
  swcrc: false,
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      useDefineForClassFields: true,
      verbatimModuleSyntax: true,
    },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  testMatch: [
    '<rootDir>/{src,libs,apps}/**/*.spec.ts',
    '<rootDir>/test/**/*.spec.ts',
    '<rootDir>/test/**/*.e2e-spec.ts',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  setupFiles: ['reflect-metadata'],
  resolver: '<rootDir>/tools/jest-resolver.cjs',
  moduleNameMapper: {
    '^#libs/contract/core$': '<rootDir>/libs/contract/src/core.ts',
    '^#libs/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^nestjs-sandbox$': '<rootDir>/src/index.ts',
    '^nestjs-sandbox/runner$': '<rootDir>/src/runner/index.ts',
    '^nestjs-sandbox/health$': '<rootDir>/src/health/index.ts',
    '^nestjs-sandbox/otel$': '<rootDir>/src/otel/index.ts',
    '^nestjs-sandbox/sprites$': '<rootDir>/src/adapters/sprites/index.ts',
    '^nestjs-sandbox/e2b$': '<rootDir>/src/adapters/e2b/index.ts',
    '^nestjs-sandbox/daytona$': '<rootDir>/src/adapters/daytona/index.ts',
    '^nestjs-sandbox/contract$': '<rootDir>/libs/contract/src/index.ts',
    '^nestjs-sandbox/testing$': '<rootDir>/libs/testing/src/index.ts',
    '^nestjs-sandbox/conformance$': '<rootDir>/libs/conformance/src/index.ts',
    '^nestjs-sandbox/emulators$': '<rootDir>/libs/emulators/src/index.ts',
  },
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  testSequencer: '<rootDir>/tools/jest-sequencer.mjs',
  workerIdleMemoryLimit: '512MB',
  // To give back the memory of all its files takes a worker longer than half a second, on a machine that is busy.
  workerGracefulExitTimeout: 10_000,
  testTimeout: 60_000,
  coverageProvider: 'v8',
  collectCoverageFrom: ['{src,libs,apps}/**/*.ts', '!**/*.spec.ts', '!**/main.ts'],
};
