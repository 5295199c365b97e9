import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';
import { RunnerGateway, RunnerHost } from 'nestjs-sandbox/runner';

@Controller('health')
export class HealthController {
  constructor(
    private readonly host: RunnerHost,
    private readonly gateway: RunnerGateway,
  ) {}

  /** 200 with the number of runners online, 503 while the platform drains. */
  @Get()
  async health(): Promise<{ status: 'ok'; runners: number }> {
    if (this.gateway.stats().draining) throw new ServiceUnavailableException({ status: 'draining' });
    return { status: 'ok', runners: (await this.host.online()).length };
  }
}
