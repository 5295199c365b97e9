import { SandboxError, type SandboxHandle } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import { newNonce } from '../common/session-id.js';
import { quote } from '../common/shell-quote.js';
import { malformedReply, toolboxError } from './daytona.errors.js';
import type { ToolboxCall, Toolboxes } from './daytona.toolboxes.js';

const BEGIN = '@begin';
const END = '@end';
const BEGIN_LINE = new RegExp(`(?<![^\\n])${BEGIN}\\n`);
/** Beyond the time that a program takes by itself. */
const MARGIN_SECONDS = 10;

/** A program for `sh` that ends soon, and prints lines of text. */
export interface Errand extends ToolboxCall {
  /** Told to the service as part of the user agent. */
  readonly purpose: 'start' | 'read' | 'write' | 'stop' | 'list' | 'place' | 'clean';
  readonly program: string;
  /** How long it may take by itself. @default 0 */
  readonly seconds?: number;
  /** @default 8 MiB */
  readonly maxBytes?: number;
}

/**
 * Runs a program in a sandbox, and gives what it printed: all of it, or an error. The service hands the text to some
 * shell, so it is only told to start `sh`; neither the list of processes nor one of the service shows the program.
 *
 * @returns `undefined` where the sandbox does not run and was not to be started
 */
export async function runErrand(
  toolboxes: Toolboxes,
  handle: SandboxHandle,
  { purpose, program, seconds = 0, maxBytes, ...how }: Errand,
  deadline: Deadline,
): Promise<string | undefined> {
  const timeout = Math.ceil(seconds) + MARGIN_SECONDS;
  const answer = await toolboxes.call(
    handle,
    {
      method: 'POST',
      path: '/process/execute',
      headers: { 'user-agent': `nestjs-sandbox (${purpose})` },
      json: { command: enclosed(program), timeout },
      deadline,
      ...(maxBytes !== undefined && { maxBytes }),
    },
    how,
  );
  if (answer === undefined) return undefined;
  if (!answer.ok) throw toolboxError(answer);
  const result = asObject(answer.json())?.['result'];
  if (typeof result !== 'string') throw malformedReply('the result of a command');
  return between(result);
}

/** {@link runErrand} with a time of its own for each request, within the deadline of the whole. */
export function runErrandWithin(
  toolboxes: Toolboxes,
  handle: SandboxHandle,
  errand: Errand,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  return withinDeadline(timeoutMs, signal, (deadline) => runErrand(toolboxes, handle, errand, deadline));
}

/** The words of the first line that a program says. */
export function wordsIn(text: string | undefined): readonly string[] {
  const [first = ''] = (text ?? '').split('\n', 1);
  return first.startsWith('@') ? first.slice(1).split(' ') : [];
}

/** For any shell: the program is read by `sh`, from its stdin, to the end before any of it runs. */
export function enclosed(program: string): string {
  const end = `end_${newNonce()}`;
  return [
    `exec sh -c 'eval "$(cat)"' nestjs-sandbox <<${quote(end)}`,
    `echo ${BEGIN}`,
    `exec </dev/null; trap 'echo ${END}' EXIT`,
    program,
    end,
    '',
  ].join('\n');
}

/** What a program printed, if that is whole. What a shell says on its own before is not the program's. */
export function between(result: string): string {
  // Nothing is copied: it may be long.
  const text = result.trimEnd();
  const begin = text.search(BEGIN_LINE);
  if (begin === -1 || !text.endsWith(`\n${END}`)) {
    throw new SandboxError('unavailable', {
      effect: 'unknown',
      message: 'a program in the sandbox did not come to its end',
    });
  }
  return text.slice(begin + BEGIN.length + 1, -END.length);
}
