/**
 * What every program does that a benchmark talks to: answers each message, and ends with whoever started it.
 *
 * @param close what it does before it ends
 */
export function answer(reply: (question: unknown) => Promise<object>, close = async (): Promise<void> => {}): void {
  const end = (): void => void close().finally(() => process.exit(0));
  // The terminal's Ctrl-C reaches the whole group; the benchmark ends its programs in its own order.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', end);
  process.on('disconnect', end);
  process.on('message', (question) => {
    void reply(question).then((message) => process.send?.(message));
  });
}
