/** Milliseconds of each of `count` calls, `parallel` at a time. */
export async function latencies(count: number, parallel: number, call: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      await call();
      taken.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return taken;
}
