/** What happened in a case, with times from its beginning. */
export class Transcript {
  readonly #startedAtMs = performance.now();
  readonly #lines: { readonly atMs: number; text: string; times: number }[] = [];

  /** The same line again and again is one line with a number. */
  note(text: string): void {
    const last = this.#lines.at(-1);
    if (last?.text === text) last.times += 1;
    else this.#lines.push({ atMs: performance.now() - this.#startedAtMs, text, times: 1 });
  }

  /** The newest lines, oldest first. */
  lines(most = 60): string[] {
    const shown = this.#lines.slice(-most);
    const left = this.#lines.length - shown.length;
    return [
      ...(left > 0 ? [`… ${left} lines before`] : []),
      ...shown.map(
        ({ atMs, text, times }) => `+${atMs.toFixed(0)} ms  ${text}${times > 1 ? `  (${times} times)` : ''}`,
      ),
    ];
  }
}
