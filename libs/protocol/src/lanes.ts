import { deferred } from './deferred.js';

/** A place in a lane. */
export interface Turn<T> {
  readonly result: Promise<T>;
  /** Settles the result early. A task that has not started then never does; one that has keeps the lane until it ends. */
  resolve(value: T): void;
  reject(error: Error): void;
  readonly started: boolean;
}

/** Requests of one session in order: each is sent when the one before was answered. */
export class Lane {
  private readonly tasks: (() => Promise<void> | undefined)[] = [];
  private running = false;

  /** `onIdle` is called when the last task has ended. */
  constructor(private readonly onIdle: () => void) {}

  get idle(): boolean {
    return !this.running && this.tasks.length === 0;
  }

  /** The task starts before this returns when nothing is ahead of it. */
  add<T>(task: () => Promise<T>): Turn<T> {
    const { promise, resolve, reject } = deferred<T>();
    let settled = false;
    let started = false;
    const once =
      <A>(settle: (value: A) => void) =>
      (value: A): void => {
        settled = true;
        settle(value);
      };
    const turn = {
      result: promise,
      resolve: once(resolve),
      reject: once(reject),
      get started() {
        return started;
      },
    };
    this.tasks.push(() => {
      if (settled) return undefined;
      started = true;
      return task().then(turn.resolve, turn.reject);
    });
    if (!this.running) void this.run();
    return turn;
  }

  private async run(): Promise<void> {
    this.running = true;
    for (let task = this.tasks.shift(); task !== undefined; task = this.tasks.shift()) await task();
    this.running = false;
    this.onIdle();
  }
}
