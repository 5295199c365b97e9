import { Inject, Injectable, Optional, type OnApplicationShutdown } from '@nestjs/common';
import { metrics, type BatchObservableCallback, type Meter, type Observable } from '@opentelemetry/api';
import type { RunnerGatewayStats, RunnerStatsSource } from '../runner/runner-stats.js';
import { RUNNER_STATS } from '../runner/runner.tokens.js';
import { OTEL_OPTIONS, SCOPE, type SandboxOpenTelemetryOptions } from './otel.options.js';

type Count = Exclude<keyof RunnerGatewayStats, 'draining'>;
type Kind = 'createObservableCounter' | 'createObservableUpDownCounter' | 'createObservableGauge';

/** A runner is no attribute: there can be thousands. */
const METRICS: readonly (readonly [count: Count, kind: Kind, name: string, unit: string, description: string])[] = [
  ['connections', 'createObservableUpDownCounter', 'connections', '{connection}', 'Open connections of runners'],
  ['registrations', 'createObservableCounter', 'registrations', '{registration}', 'Runners that came, or came back'],
  ['refused', 'createObservableCounter', 'refusals', '{dial}', 'Dials refused before the upgrade'],
  ['sessions', 'createObservableUpDownCounter', 'sessions', '{session}', 'Sessions that are followed'],
  ['pendingRequests', 'createObservableUpDownCounter', 'requests.pending', '{request}', 'Requests without a reply'],
  [
    'unsentRequests',
    'createObservableUpDownCounter',
    'requests.unsent',
    '{request}',
    'Requests that wait for a socket',
  ],
  ['queuedBytes', 'createObservableUpDownCounter', 'queue.size', 'By', 'Output that its readers have not taken'],
  ['maxQueuedBytes', 'createObservableGauge', 'queue.max', 'By', 'The same, of the connection that has most'],
];

/** What the gateway counts, as metrics; nothing in an application without `RunnerModule`. */
@Injectable()
export class RunnerMetrics implements OnApplicationShutdown {
  readonly #stop: () => void = () => {};

  constructor(
    @Inject(OTEL_OPTIONS) { meterProvider = metrics, attributes = {} }: SandboxOpenTelemetryOptions,
    @Optional() @Inject(RUNNER_STATS) gateway?: RunnerStatsSource,
  ) {
    if (gateway === undefined) return;
    const meter: Meter = meterProvider.getMeter(SCOPE);
    const observables = new Map<Count, Observable>(
      METRICS.map(([count, kind, name, unit, description]) => [
        count,
        meter[kind](`sandbox.runner.${name}`, { unit, description }),
      ]),
    );
    const observe: BatchObservableCallback = (result) => {
      const stats = gateway.stats();
      for (const [count, observable] of observables) result.observe(observable, stats[count], attributes);
    };
    meter.addBatchObservableCallback(observe, [...observables.values()]);
    this.#stop = () => meter.removeBatchObservableCallback(observe, [...observables.values()]);
  }

  onApplicationShutdown(): void {
    this.#stop();
  }
}
