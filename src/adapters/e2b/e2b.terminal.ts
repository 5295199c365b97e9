import { setTimeout as delay } from 'node:timers/promises';
import type {
  AttachRequest,
  SandboxCommand,
  SandboxHandle,
  SpawnRequest,
  StreamingCommand,
  TerminalSize,
} from '#libs/contract';
import { titleOf } from '../common/command-words.js';
import type { Deadline } from '../common/deadline.js';
import { malformedWord } from '../common/journal-errors.js';
import { formatSessionId, newNonce, type SessionId } from '../common/session-id.js';
import { shimTerminalProgram } from '../common/shim.js';
import { FROM_STDIN } from '../common/shim-start.js';
import { terminalCommand } from '../common/terminal-command.js';
import { TerminalOutput } from '../common/terminal-output.js';
import { abandon } from './e2b.abandon.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bProcess } from './e2b.process.js';
import { runProgram } from './e2b.run-program.js';
import { joinProcess, startOnTerminal } from './e2b.start-process.js';

/** How long an answer to a line is waited for until another line is sent: at first, and at most. */
const PROD_MS = { first: 40, most: 640 } as const;
const NEWLINE = Buffer.from('\n');

/**
 * The service may lose what a terminal shows first: so the shell says that it is there as often as it is asked. It ends
 * when nothing comes for some 50 s, where shell and terminal can tell, since nobody may ever learn of it.
 */
const FROM_TERMINAL = `sb_tty=$(stty -g) && stty raw -echo || exit 125
stty min 0 time 255 2>/dev/null
while IFS= read -r sb_l && [ "$sb_l" != go ]; do echo @w; done
${FROM_STDIN}`;

/** Starts a command on a terminal of its own. */
export async function spawnOnTerminal(
  machine: E2bMachine,
  handle: SandboxHandle,
  request: SpawnRequest & { readonly tty: TerminalSize },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const nonce = newNonce();
  const output = new TerminalOutput(true);
  const spec = { kind: request.detachable ? 'd' : 'c', nonce, title: titleOf(request) } as const;
  const process = await startOnTerminal(machine, spec, FROM_TERMINAL, request.tty, output, deadline);
  output.onOverflow = () => process.close();
  try {
    await shellReady(process, output, deadline).catch((error: unknown) => {
      void abandon(machine, process.pid, spec);
      throw error;
    });
    const program = `go\n${shimTerminalProgram({ ...request, nonce })}`;
    const { startCode } = await runProgram(machine, process, spec, program, () => shimWord(output), deadline);
    output.startCode = startCode;
    output.begin();
  } catch (error) {
    process.close();
    throw error;
  }
  const sessionId = formatSessionId({ pid: process.pid, nonce });
  return held(machine, terminalCommand(handle, 'spawn', sessionId, output, process, request.stdin));
}

/** Joins a session on a terminal: what it shows from here on. */
export async function joinTerminal(
  machine: E2bMachine,
  handle: SandboxHandle,
  { id, sessionId, stdin }: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const output = new TerminalOutput(false);
  const process = await joinProcess(machine, id.pid, true, output, deadline);
  output.onOverflow = () => process.close();
  return held(machine, terminalCommand(handle, 'attach', sessionId, output, process, stdin));
}

/** Resolves when the shell reads. */
async function shellReady(process: E2bProcess, output: TerminalOutput, deadline: Deadline): Promise<void> {
  const answered = firstWord(output);
  answered.catch(() => {});
  for (let waitMs: number = PROD_MS.first; ; waitMs = Math.min(2 * waitMs, PROD_MS.most)) {
    await deadline.race(process.write(NEWLINE), 'none');
    const word = await deadline.race(Promise.race([answered, delay(waitMs)]), 'none');
    if (word === '@w') return;
    if (word !== undefined) throw malformedWord().with({ effect: 'none' });
  }
}

/** What the shim says, behind the answers of the shell. */
async function shimWord(output: TerminalOutput): Promise<readonly string[]> {
  let line = '@w';
  while (line === '@w' || line === '') line = await output.line();
  return line.slice(1).split(' ');
}

/** Until it was told otherwise, a terminal echoes the lines that it is sent. */
async function firstWord(output: TerminalOutput): Promise<string> {
  for (;;) {
    const line = await output.line();
    if (line !== '') return line;
  }
}

/** While it is read, its sandbox is kept alive. */
function held(machine: E2bMachine, command: StreamingCommand): StreamingCommand {
  const release = machine.hold();
  command.exit.then(release, release);
  return command;
}
