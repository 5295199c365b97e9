/** Waits for a cause: calls `probe` every few milliseconds until it gives something truthy. */
export async function until<T>(
  what: string,
  probe: () => T | PromiseLike<T>,
  { withinMs = 20_000, everyMs = 10 }: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Rejects when `promise` has not settled within `withinMs`, so that a hang is a failure with a name. */
export async function settles<T>(what: string, promise: PromiseLike<T>, withinMs = 20_000): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not settle within ${withinMs} ms`)), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
