import { Module, type DynamicModule } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { SandboxModule } from 'nestjs-sandbox';
import { RunnerAdapter, RunnerModule } from 'nestjs-sandbox/runner';
import { HealthController } from './health.controller.js';
import { PlatformHost } from './platform-host.js';

@Module({})
export class PlatformModule {
  /** @param tokens runner tokens; without them those of `RUNNER_TOKENS` */
  static register(tokens?: string): DynamicModule {
    return {
      module: PlatformModule,
      imports: [
        ConfigModule.forRoot({ isGlobal: true }),
        RunnerModule.forRoot({ tokens, host: PlatformHost }),
        SandboxModule.forRoot({ adapters: { runner: RunnerAdapter }, isGlobal: true }),
      ],
      controllers: [HealthController],
    };
  }
}
