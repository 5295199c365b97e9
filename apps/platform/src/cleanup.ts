/** What has to be undone, newest first. Every step runs, whatever the others do, and only once. */
export class Cleanup implements AsyncDisposable {
  readonly #steps: { readonly what: string; readonly undo: () => Promise<unknown> }[] = [];

  constructor(private readonly report: (message: string) => void) {}

  /** `what` is done by `undo` and named in the report if it fails. */
  defer(what: string, undo: () => Promise<unknown>): void {
    this.#steps.push({ what, undo });
  }

  /** Never rejects: a failing step is reported. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (error) {
        this.report(`${step.what} failed: ${error instanceof Error ? error.message : typeof error}`);
      }
    }
  }
}
