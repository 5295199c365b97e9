import type { DaemonConnection } from '#libs/protocol';
import { Semaphore } from './semaphore.js';

export type Outlet = Pick<DaemonConnection, 'event' | 'writable' | 'whenWritable' | 'signal'>;

/**
 * Turns at reading what goes out over one socket: a few at once, each while the socket takes more. What is not yet
 * wanted stays in the journals.
 */
export class Turns {
  private readonly semaphore: Semaphore;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly outlet: Outlet,
    permits: number,
  ) {
    this.semaphore = new Semaphore(permits);
    outlet.signal.addEventListener('abort', () => {
      for (const resume of this.waiting) resume();
    });
  }

  /** Resolves with the function that ends the turn; also when the socket has closed, so that nobody waits for ever. */
  async take(): Promise<() => void> {
    const leave = await this.semaphore.acquire();
    while (!this.outlet.signal.aborted && !this.outlet.writable()) await this.resumed();
    return leave;
  }

  private resumed(): Promise<void> {
    return new Promise((resolve) => {
      const resume = (): void => {
        this.waiting.delete(resume);
        resolve();
      };
      this.waiting.add(resume);
      this.outlet.whenWritable(resume);
    });
  }
}
