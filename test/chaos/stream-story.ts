import type { SandboxCommand } from 'nestjs-sandbox';
import type { StoryRecord } from './evidence.js';
import { printed, printing } from './programs.js';
import { Reader } from './reader.js';
import { before } from './story.js';
import type { Telling } from './teller.js';

/** Prints for a while, and is read to its end; after a fault the reading goes on in another attach. */
export async function tellStream(telling: Telling, resumed?: StoryRecord['session']): Promise<void> {
  const { story } = telling;
  if (resumed) telling.caller.openedAt = resumed.openedAt;
  const command = resumed ? undefined : await spawnPrinting(telling);
  const sessionId = resumed?.id ?? command?.sessionId ?? '';
  const main = readerOf(telling, sessionId, resumed?.next);
  if (story.kind !== 'twin') return main.toEnd(command);
  let passed: (() => void) | undefined;
  const halfway = new Promise<void>((resolve) => (passed = resolve));
  const reading = main.toEnd(command, ({ stdout }) => {
    if (stdout >= printed(story.printing).stdout * story.stopAt) passed?.();
  });
  await Promise.race([halfway, reading.catch(() => {})]);
  const twin = readerOf(telling, sessionId, before(telling.random, main.next));
  await Promise.all([reading, twin.toEnd()]);
}

/** Asks for the command until it runs. @throws {SandboxError} it may or may not run @throws {StoryOver} */
export async function spawnPrinting(telling: Telling): Promise<SandboxCommand> {
  const { story, sandboxes, handle, caller, signal } = telling;
  const command = await caller.once('spawn', (mark) => {
    const { cmd, args } = printing(mark, story.content, story.printing);
    return sandboxes.spawn(handle, cmd, args, { detachable: true, signal });
  });
  const session = { id: command.sessionId ?? '', openedAt: caller.openedAt ?? 0 };
  telling.record({ ...session, next: { stdout: 0, stderr: 0 } });
  return command;
}

/** A reader of what {@link spawnPrinting} started, which tells the ledger how it ended. */
export function readerOf(
  telling: Telling,
  sessionId: string,
  from = { stdout: 0, stderr: 0 },
): {
  readonly next: Reader['next'];
  toEnd(first?: SandboxCommand, progress?: (next: Reader['next']) => void): Promise<void>;
} {
  const { story, handle, random, caller, report } = telling;
  let onProgress: ((next: Reader['next']) => void) | undefined;
  const reader = new Reader(
    telling,
    { story, handle, sessionId, random, onProgress: (next) => onProgress?.(next) },
    from,
  );
  return {
    get next() {
      return reader.next;
    },
    async toEnd(first, progress) {
      onProgress = (next) => {
        progress?.(next);
        telling.record({ id: sessionId, openedAt: caller.openedAt ?? 0, next });
      };
      const exit = await reader.toEnd(first, ({ signal }) => (signal ? undefined : printed(story.printing)));
      if (exit) report({ type: 'ended', story: story.index, at: Date.now(), openedAt: caller.openedAt ?? 0, exit });
    },
  };
}
