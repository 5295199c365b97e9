/**
 * Calls `gone` once when the other end of this process's stdin is closed, as it is when the process that holds it
 * ends, however it ends. What comes in is read to nowhere. The returned function stops watching.
 */
export function watchParent(gone: () => void, stdin: NodeJS.ReadStream = process.stdin): () => void {
  const once = (): void => {
    stop();
    gone();
  };
  const stop = (): void => {
    for (const event of ['end', 'close', 'error']) stdin.off(event, once);
    // Without a listener of its own an error would end the process.
    stdin.on('error', () => {});
    stdin.pause();
  };
  for (const event of ['end', 'close', 'error']) stdin.once(event, once);
  stdin.resume();
  return stop;
}
