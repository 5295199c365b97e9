import { PATTERN_LINE, type Vocabulary, type Words } from '#libs/conformance';
import type { FakeProcess, FakeProgram } from '#libs/testing';

const POLL_MS = 5;
const PIECE_BYTES = 64 * 1024;

/** The vocabulary of the suite as programs of a fake, each under the name of its word. */
export const fakeWords: Vocabulary = Object.freeze({
  print: ({ stdout = '', stderr = '', exitCode = 0 }) =>
    word('print', base64(stdout), base64(stderr), String(exitCode)),
  echoArguments: (...args) => word('echoArguments', ...args),
  echoVariables: (...names) => word('echoVariables', ...names),
  echoDirectory: () => word('echoDirectory'),
  copyStdin: (to) => word('copyStdin', to),
  countStdin: () => word('countStdin'),
  puppet: () => word('puppet'),
  lines: (bytes) => word('lines', String(bytes)),
  longLine: (bytes) => word('longLine', String(bytes)),
  count: (last, both = false) => word('count', String(last), String(both)),
  flood: () => word('lines', 'Infinity'),
  stay: () => word('stay'),
  closeInput: () => word('closeInput'),
  stayThroughTerm: () => word('stayThroughTerm'),
  dieOf: (signal) => word('dieOf', signal),
  missing: () => ({ cmd: 'no-such-program-anywhere', args: [] }),
  runFile: (path) => ({ cmd: `./${path}`, args: [] }),
  showFile: (path) => word('showFile', path),
  showMode: (path) => word('showMode', path),
  exists: (path) => word('exists', path),
  link: (target, path) => word('link', target, path),
  touch: (path) => word('touch', path),
  makeDirectory: (path) => word('makeDirectory', path),
  pause: (ms) => word('pause', String(ms)),
  family: ({ trigger, mark, deaf = false }) => word('family', trigger, mark, String(deaf)),
  background: ({ trigger, mark }) => word('background', trigger, mark),
  showVariable: (name) => word('showVariable', name),
  tidyUp: ({ begun, mark }) => word('tidyUp', begun, mark),
  showTerminalSize: () => word('showTerminalSize'),
} satisfies Vocabulary);

/** What the words of {@link fakeWords} run. */
export const fakePrograms: Readonly<Record<string, FakeProgram>> = {
  async print({ args, write }) {
    const [stdout = '', stderr = '', exitCode] = args;
    await write('stdout', Buffer.from(stdout, 'base64'));
    await write('stderr', Buffer.from(stderr, 'base64'));
    return Number(exitCode);
  },
  async echoArguments({ args, write }) {
    await write('stdout', args.map((one) => `${one}\0`).join(''));
    return 0;
  },
  async echoVariables({ args, env, write }) {
    const set = args.filter((name) => Object.hasOwn(env, name));
    await write('stdout', set.map((name) => `${name}=${env[name]}\0`).join(''));
    return 0;
  },
  async echoDirectory({ dir, write }) {
    await write('stdout', `${dir}\n`);
    return 0;
  },
  async copyStdin({ args, stdin, write }) {
    for await (const piece of stdin) await write(args[0] === 'stderr' ? 'stderr' : 'stdout', piece);
    return 0;
  },
  async countStdin({ stdin, write }) {
    let bytes = 0;
    for await (const piece of stdin) bytes += piece.byteLength;
    await write('stdout', `${bytes}\n`);
    return 0;
  },
  async puppet(process) {
    for await (const line of linesOf(process)) {
      const [verb, rest] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)];
      if (verb === 'exit') return Number(rest);
      if (verb === 'out' || verb === 'err') await process.write(verb === 'out' ? 'stdout' : 'stderr', octal(rest));
    }
    return 0;
  },
  lines: ({ args, write }) => emit(write, PATTERN_LINE, Number(args[0])),
  longLine: ({ args, write }) => emit(write, 'x', Number(args[0])),
  async count({ args, write }) {
    const [last, both] = [Number(args[0]), args[1] === 'true'];
    for (let n = 1; n <= last; n++) await write(both && n % 2 === 0 ? 'stderr' : 'stdout', `${n}\n`);
    return 0;
  },
  stay,
  closeInput(process) {
    process.closeStdin();
    return stay(process);
  },
  stayThroughTerm(process) {
    process.onSignal('SIGTERM', () => {});
    return stay(process);
  },
  async dieOf({ args, raise, ended }) {
    raise(args[0] as NodeJS.Signals);
    return forGood(ended);
  },
  async showFile({ args, files, write }) {
    await write('stdout', files.read(args[0] as string));
    return 0;
  },
  async showMode({ args, files, write }) {
    await write('stdout', `${files.stat(args[0] as string).mode.toString(8)}\n`);
    return 0;
  },
  exists: ({ args, files }) => (isThere(files, args[0] as string) ? 0 : 1),
  link({ args, files }) {
    files.symlink(args[0] as string, args[1] as string);
    return 0;
  },
  touch({ args, files }) {
    files.write(args[0] as string, '');
    return 0;
  },
  makeDirectory({ args, files }) {
    const path = args[0] as string;
    if (isThere(files, path)) return 1;
    files.makeDirectory(path);
    return 0;
  },
  async pause({ args, sleep }) {
    await sleep(Number(args[0]));
    return 0;
  },
  async family(process) {
    if (process.args[2] === 'true') process.onSignal('SIGTERM', () => {});
    await process.write('stdout', 'ready\n');
    await runErrand(process);
    return forGood(process.ended);
  },
  async background(process) {
    await process.write('stdout', 'ready\n');
    process.daemonize(0);
    await runErrand(process);
    return 0;
  },
  async showVariable({ args, env, write }) {
    const name = args[0] as string;
    if (!Object.hasOwn(env, name)) return 1;
    await write('stdout', `${env[name]}\n`);
    return 0;
  },
  tidyUp(process) {
    const { args, files, exit } = process;
    process.onSignal('SIGTERM', () => {
      files.write(args[1] as string, '');
      exit(0);
    });
    files.write(args[0] as string, '');
    return stay(process);
  },
  async showTerminalSize(process) {
    const show = (): Promise<void> => process.write('stdout', `${process.size?.rows} ${process.size?.cols}\n`);
    await show();
    for await (const _ of linesOf(process)) await show();
    return 0;
  },
};

function word(cmd: string, ...args: string[]): Words {
  return { cmd, args };
}

function base64(data: Uint8Array | string): string {
  return Buffer.from(data).toString('base64');
}

/** Bytes from `\0ooo` each. */
function octal(text: string): Buffer {
  return Buffer.from(Array.from(text.matchAll(/\\0([0-7]{3})/g), ([, digits]) => Number.parseInt(digits as string, 8)));
}

async function* linesOf({ stdin }: FakeProcess): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of stdin) {
    const lines = (rest + Buffer.from(piece).toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

async function emit(write: FakeProcess['write'], unit: string, bytes: number): Promise<number> {
  const piece = Buffer.from(unit.repeat(Math.ceil(PIECE_BYTES / unit.length)));
  // Whole units, so that every piece begins as the first does.
  for (let left = bytes; left > 0; left -= piece.byteLength) await write('stdout', piece.subarray(0, left));
  return 0;
}

async function stay({ write, ended }: FakeProcess): Promise<number> {
  await write('stdout', 'ready\n');
  return forGood(ended);
}

/** Until it is killed. */
function forGood(ended: AbortSignal): Promise<number> {
  return new Promise((resolve) => ended.addEventListener('abort', () => resolve(0), { once: true }));
}

async function runErrand({ args: [trigger, mark], files, sleep }: FakeProcess): Promise<void> {
  while (!isThere(files, trigger as string)) await sleep(POLL_MS);
  files.write(mark as string, '');
}

function isThere(files: FakeProcess['files'], path: string): boolean {
  try {
    files.stat(path);
    return true;
  } catch {
    return false;
  }
}
