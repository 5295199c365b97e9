import { NestFactory } from '@nestjs/core';
import { SandboxModule, SandboxService } from 'nestjs-sandbox';
import { scaled, type Benchmark } from './benchmark.js';
import { MemoryAdapter } from './memory-adapter.js';
import { median, quantile } from './statistics.js';

const CALLS = 100_000;
const MAX_US = 5;

export const facade: Benchmark = {
  name: 'facade',
  what: '`service.get` minus `adapter.get` on an adapter in memory',
  target: `median over ${CALLS} ≤ ${MAX_US} µs`,
  async run(context) {
    const adapter = new MemoryAdapter();
    const module = SandboxModule.forRoot({ adapters: { memory: { useValue: adapter } } });
    const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'fatal'] });
    context.defer('Closing the application', () => app.close());
    const service = app.get(SandboxService);
    const handle = await service.create('memory', 'bench');
    const timed = async (get: () => Promise<unknown>): Promise<number> => {
      const began = process.hrtime.bigint();
      await get();
      return Number(process.hrtime.bigint() - began) / 1e3;
    };
    const viaService = (): Promise<unknown> => service.get(handle);
    const viaAdapter = (): Promise<unknown> => adapter.get(handle);
    const calls = scaled(context, CALLS);
    for (let call = 0; call < calls / 10; call++) await viaService().then(viaAdapter);
    const [service_, adapter_, added]: [number[], number[], number[]] = [[], [], []];
    for (let call = 0; call < calls; call++) {
      const [ours, bare] = [await timed(viaService), await timed(viaAdapter)];
      service_.push(ours);
      adapter_.push(bare);
      added.push(ours - bare);
    }
    const bare = median(adapter_);
    return [
      {
        what: 'added by the service, median',
        unit: 'µs',
        ours: median(added),
        comparator: { what: 'adapter.get', value: bare },
        ratio: median(added) / bare,
        spread: [quantile(added, 0.05), quantile(added, 0.95)],
        target: `≤ ${MAX_US} µs`,
        holds: median(added) <= MAX_US,
      },
    ];
  },
};
