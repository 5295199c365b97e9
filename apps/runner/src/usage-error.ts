/** The program was started in a way that cannot work; the message is one line for whoever started it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
