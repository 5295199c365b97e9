import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError, type SandboxCommand } from 'nestjs-sandbox';
import { BACK_MS } from './bounds.js';
import { isUnreachable } from './caller.js';
import { bytesAt } from './lines.js';
import { echoing } from './programs.js';
import { Reader } from './reader.js';
import type { Telling } from './teller.js';

/** What of stdin the command has for certain, and what it may have beyond that. */
interface Written {
  certain: number;
  perhaps: number;
}

/** What is written to stdin comes back, each byte once; of a write that failed it is known whether it may have. */
export async function tellEcho(telling: Telling): Promise<void> {
  const { story, sandboxes, handle, caller, random, signal, report } = telling;
  const { exitCode } = story.printing;
  const first = await caller.once('spawn', (mark) => {
    const { cmd, args } = echoing(mark, exitCode);
    return sandboxes.spawn(handle, cmd, args, { stdin: true, detachable: true, signal });
  });
  const written: Written = { certain: 0, perhaps: 0 };
  const live = new Live();
  const reader = new Reader(telling, {
    story: { ...story, detachAfter: undefined },
    handle,
    sessionId: first.sessionId ?? '',
    random,
    stdin: true,
    onCommand: (command) => live.set(command),
  });
  const reading = reader.toEnd(first, ({ signal: killedBy }) => {
    if (killedBy) return undefined;
    // Bytes that may have been written count as written once they came back.
    const back = Math.min(reader.next.stdout, written.certain + written.perhaps);
    return { stdout: Math.max(written.certain, back), stderr: 0 };
  });
  const over = reading.finally(() => live.end());
  const [exit] = await Promise.all([over, write(telling, live, written)]);
  if (exit) report({ type: 'ended', story: story.index, at: Date.now(), openedAt: caller.openedAt ?? 0, exit });
}

async function write({ story, caller, random, signal }: Telling, live: Live, written: Written): Promise<void> {
  for (let left = random.int(2, 30); left > 0; left--) {
    const data = bytesAt(story.content, 'stdout', written.certain, random.int(1, 20_000));
    const done = await overLinks(live, async (command) => {
      try {
        await caller.call('writeStdin', () => command.writeStdin(data, { signal }));
        written.certain += data.length;
      } catch (error) {
        if (!(error instanceof SandboxError) || error.effect === 'none') throw error;
        written.perhaps = data.length;
      }
    });
    if (!done || written.perhaps > 0) break;
    await sleep(random.int(10, 300));
  }
  await overLinks(live, (command) => caller.call('closeStdin', () => command.closeStdin({ signal })));
}

/** Tries with one command after the other, while the runner cannot be reached. False when the session is over. */
async function overLinks(live: Live, work: (command: SandboxCommand) => Promise<void>): Promise<boolean> {
  for (const until = Date.now() + BACK_MS; Date.now() < until;) {
    const command = await live.get();
    if (!command) return false;
    try {
      await work(command);
      return true;
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      if (!isUnreachable(error)) return false;
      await live.other(command);
    }
  }
  return false;
}

/** The command over which the session is reached at this moment. */
class Live {
  private command: SandboxCommand | undefined;
  private over = false;
  private wake: (() => void)[] = [];

  set(command: SandboxCommand): void {
    this.command = command;
    for (const wake of this.wake.splice(0)) wake();
  }

  end(): void {
    this.over = true;
    for (const wake of this.wake.splice(0)) wake();
  }

  /** Undefined once there will be none. */
  async get(): Promise<SandboxCommand | undefined> {
    return this.over ? undefined : this.command;
  }

  /** Resolves when there is another one than `command`, or none any more. */
  async other(command: SandboxCommand): Promise<void> {
    while (!this.over && this.command === command) await new Promise<void>((resolve) => this.wake.push(resolve));
  }
}
