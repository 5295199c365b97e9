import type { Attributes, Meter, ObservableCounter, ObservableResult } from '@opentelemetry/api';
import type { ExecResult, SandboxCommand } from '#libs/contract';

/**
 * Bytes of output by provider. What streams is counted when the metric is read, so that a frame costs nothing more.
 */
export class OutputMetric {
  readonly #counter: ObservableCounter;
  /** Of what has ended, by provider. */
  readonly #totals = new Map<string, number>();
  readonly #running = new Map<SandboxCommand, string>();

  constructor(
    meter: Meter,
    private readonly attributes: Attributes,
  ) {
    this.#counter = meter.createObservableCounter('sandbox.output', {
      unit: 'By',
      description: 'Output of commands that has arrived, stdout and stderr',
    });
    this.#counter.addCallback(this.#observe);
  }

  /** Takes the result of any call; those with output are counted. */
  add(provider: string, result: unknown): void {
    if (typeof result !== 'object' || result === null) return;
    const { output, stderr } = result as Partial<ExecResult>;
    if (output instanceof Uint8Array) return this.#count(provider, output.byteLength + (stderr?.byteLength ?? 0));
    const command = result as SandboxCommand;
    if (typeof command.outputBytes !== 'number') return;
    this.#running.set(command, provider);
    const ended = (): void => {
      if (this.#running.delete(command)) this.#count(provider, command.outputBytes);
    };
    command.exit.then(ended, ended);
  }

  close(): void {
    this.#counter.removeCallback(this.#observe);
    this.#running.clear();
  }

  #count(provider: string, bytes: number): void {
    this.#totals.set(provider, (this.#totals.get(provider) ?? 0) + bytes);
  }

  readonly #observe = (result: ObservableResult): void => {
    const sums = new Map(this.#totals);
    for (const [{ outputBytes }, provider] of this.#running)
      sums.set(provider, (sums.get(provider) ?? 0) + outputBytes);
    for (const [provider, bytes] of sums) result.observe(bytes, { ...this.attributes, 'sandbox.provider': provider });
  };
}
