/** What every program does that a benchmark talks to: answers each message, and ends with whoever started it. */
export function answer(reply: (question: unknown) => Promise<object>): void {
  // The terminal's Ctrl-C reaches the whole group; the benchmark ends its programs in its own order.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.on('message', (question) => {
    void reply(question).then((message) => process.send?.(message));
  });
}
