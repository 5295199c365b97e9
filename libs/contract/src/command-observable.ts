import { Observable } from 'rxjs';
import type { CommandStream, FrameReader } from './command-stream.js';
import type { SandboxFrame } from './frames.js';

/**
 * The output as an Observable. Subscribing claims it; every notification comes in a later turn than `subscribe`, and
 * the credit of a frame returns when `next` has. Unsubscribing before the end calls `stop`.
 */
export function commandObservable(stream: CommandStream, stop: () => void): Observable<SandboxFrame> {
  return new Observable((subscriber) => {
    let reader: FrameReader;
    try {
      reader = stream.claim();
    } catch (error) {
      queueMicrotask(() => subscriber.error(error));
      return undefined;
    }
    let ended = false;
    let pumping = false;
    // A frame that arrives while `next` runs waits for it: the loop of the outer call delivers it.
    const pump = () => {
      if (pumping) return;
      pumping = true;
      while (!ended && !subscriber.closed) {
        const item = reader.read();
        if (item === undefined) break;
        ended = item.type === 'exit' || item.type === 'error';
        if (item.type === 'error') {
          subscriber.error(item.error);
          break;
        }
        subscriber.next(item);
        if (item.type === 'exit') subscriber.complete();
        else reader.taken(item);
      }
      pumping = false;
    };
    queueMicrotask(() => {
      reader.onReadable(pump);
      pump();
    });
    return () => {
      if (!ended) stop();
    };
  });
}
