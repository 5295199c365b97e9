import { SANDBOX_OPERATIONS, type SandboxAdapter, type SandboxCommand } from '#libs/contract';
import { describe } from './describe.js';
import type { Transcript } from './transcript.js';

const OF_COMMANDS: ReadonlySet<PropertyKey> = new Set(['writeStdin', 'closeStdin', 'resize', 'stop']);

/** The adapter, with every call and what became of it in the transcript. */
export function recordedAdapter(adapter: SandboxAdapter, transcript: Transcript): SandboxAdapter {
  let calls = 0;
  return recorded(
    adapter,
    (key) => Object.hasOwn(SANDBOX_OPERATIONS, key),
    (operation, args, run) => {
      const call = `#${++calls} ${operation}`;
      return noted(transcript, call, args, run, (value) =>
        isCommand(value) ? recordedCommand(value, call, transcript) : value,
      );
    },
  );
}

function recordedCommand(command: SandboxCommand, call: string, transcript: Transcript): SandboxCommand {
  return recorded(
    command,
    (key) => OF_COMMANDS.has(key),
    (operation, args, run) => noted(transcript, `${call}.${operation}`, args, run, (value) => value),
  );
}

type Around = (operation: string, args: readonly unknown[], run: () => unknown) => Promise<unknown>;

/** Private fields need the object itself as `this`, so methods are called on it and not on the proxy. */
function recorded<T extends object>(target: T, isRecorded: (key: PropertyKey) => boolean, around: Around): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const method = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
      if (!isRecorded(key)) return method;
      return (...args: unknown[]) => {
        const settled = around(String(key), args, () => method(...args));
        // A case that fails before it awaits a call leaves it in the transcript, not to the process.
        settled.catch(() => {});
        return settled;
      };
    },
  });
}

async function noted(
  transcript: Transcript,
  call: string,
  args: readonly unknown[],
  run: () => unknown,
  wrap: (value: unknown) => unknown,
): Promise<unknown> {
  transcript.note(`→ ${call}(${args.map((one) => describe(one)).join(', ')})`);
  try {
    const value = wrap(await run());
    transcript.note(
      `← ${call} ${isCommand(value) ? `a command, session ${describe(value.sessionId)}` : describe(value)}`,
    );
    return value;
  } catch (error) {
    transcript.note(`✗ ${call} ${describe(error)}`);
    throw error;
  }
}

function isCommand(value: unknown): value is SandboxCommand {
  return typeof value === 'object' && value !== null && 'frames$' in value && 'writeStdin' in value;
}
