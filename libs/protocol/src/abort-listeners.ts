const shared = new WeakMap<AbortSignal, SharedListener>();

/**
 * Calls `fn` when `signal` aborts; the returned function ends that. However many calls share a signal, it has one
 * listener of ours: Node warns of a leak from the eleventh on.
 */
export function onAbort(signal: AbortSignal | undefined, fn: () => void): () => void {
  if (!signal) return () => {};
  let listener = shared.get(signal);
  if (!listener) shared.set(signal, (listener = new SharedListener(signal)));
  return listener.add(fn);
}

class SharedListener {
  private readonly waiting = new Set<{ readonly fn: () => void }>();

  constructor(private readonly signal: AbortSignal) {}

  add(fn: () => void): () => void {
    const entry = { fn };
    if (this.waiting.size === 0) this.signal.addEventListener('abort', this.fire);
    this.waiting.add(entry);
    return () => {
      if (this.waiting.delete(entry) && this.waiting.size === 0) this.signal.removeEventListener('abort', this.fire);
    };
  }

  private readonly fire = (): void => {
    for (const { fn } of this.waiting) fn();
  };
}
