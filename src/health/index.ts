export { SandboxHealthIndicator, type SandboxHealthData, type SandboxHealthOptions } from './sandbox.health.js';
