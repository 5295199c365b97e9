import type { Exit } from '#libs/contract/core';
import type { Answer } from '../kit/answer.js';
import { BareFailure, DaemonFailure } from './daemon-failure.js';
import { directoryOf, environmentOf } from './shell.js';
import { daemonBody, type ToolboxCall } from './toolbox-routes.js';
import { within } from './within.js';

const VARIABLE = /^[A-Za-z_]\w*$/;

/** `POST /process/execute`: a shell reads the command from its stdin; both streams are one text. */
export async function execute({ sandbox, exchange, signal }: ToolboxCall): Promise<Answer> {
  const { executeLimit, daemon } = sandbox.settings.alternatives;
  const body = await daemonBody(exchange);
  const { command, cwd, timeout, envs } = body;
  if (typeof command !== 'string' || command.trim() === '') {
    if (daemon === 'v0.190') throw new BareFailure({ status: 400 });
    throw new DaemonFailure(400, 'command is required', 'INVALID_REQUEST_BODY');
  }
  const variables = Object(envs ?? {}) as Record<string, string>;
  const bad = Object.keys(variables).find((name) => !VARIABLE.test(name));
  if (bad !== undefined) throw new DaemonFailure(400, `invalid environment variable name: ${bad}`);
  const directory = await directoryOf(sandbox, cwd);
  if (directory === undefined) return result(-1, `chdir ${String(cwd)}: no such file or directory`);
  const usualMs = executeLimit === 'none' ? Infinity : sandbox.settings.executeDefaultMs;
  const limitMs = typeof timeout === 'number' ? (timeout > 0 ? timeout * 1000 : Infinity) : usualMs;
  const { executeHoldMs } = sandbox.settings;
  const output: Buffer[] = [];
  let ended: (exit: Exit) => void = () => {};
  let callOff = () => {};
  const exit = new Promise<Exit>((resolve) => (ended = resolve));
  const shell = await sandbox.run(
    {
      cmd: sandbox.shell,
      args: [],
      directory,
      env: environmentOf(sandbox, variables),
      stdin: true,
      stderrToStdout: true,
      outputEnd: 'eof',
    },
    {
      output: (_, bytes) => output.push(bytes),
      exited: () => (callOff = sandbox.timers.after(executeHoldMs, () => 'hurry' in shell && shell.hurry())),
      ended: (how) => {
        callOff();
        ended(how);
      },
    },
  );
  if ('failed' in shell) return result(-1, shell.failed.startError ?? 'the shell could not be started');
  void shell.write(Buffer.from(`${command}\n`)).then(async () => await shell.closeStdin());
  const how = await within(exit, limitMs, signal);
  if (!how) {
    shell.signal('SIGKILL');
    throw new DaemonFailure(408, 'command execution timeout', 'PROCESS_EXECUTION_TIMEOUT');
  }
  return result(how.signal === undefined ? how.exitCode : -1, Buffer.concat(output).toString());
}

function result(exitCode: number, text: string): Answer {
  return { status: 200, json: { exitCode, result: text } };
}
