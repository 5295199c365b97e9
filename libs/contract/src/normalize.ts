import { DEFAULTS } from './adapter-defaults.js';
import type {
  AttachRequest,
  ExecRequest,
  ProcessRequest,
  SpawnRequest,
  TerminateRequest,
  WriteFileRequest,
} from './adapter-requests.js';
import { toByteSource } from './bytes.js';
import {
  checkFlag,
  checkFrom,
  checkGraceMs,
  checkMaxOutputBytes,
  checkMode,
  checkSessionId,
  checkTerminalSize,
  checkTimeoutMs,
  invalidArgument,
} from './checks.js';
import type {
  AttachOptions,
  ExecOptions,
  FileContent,
  ProcessOptions,
  SpawnOptions,
  TerminateOptions,
  WriteFileOptions,
} from './operations.js';
import { checkCommand, checkEnv, checkPath } from './process-checks.js';

// From a caller's arguments to what an adapter is given. All throw `invalid` / `argument`.

export function execRequest(cmd: string, args: readonly string[] | undefined, options: ExecOptions): ExecRequest {
  const { timeoutMs, maxOutputBytes = DEFAULTS.maxOutputBytes, stderrToStdout, stdin } = options;
  return {
    ...processRequest(cmd, args, options),
    startedAtMs: performance.now(),
    timeoutMs: timeoutMs === undefined ? undefined : checkTimeoutMs(timeoutMs),
    stderrToStdout: checkFlag('stderrToStdout', stderrToStdout),
    maxOutputBytes: checkMaxOutputBytes(maxOutputBytes),
    stdin: stdin === undefined ? undefined : toByteSource('stdin', stdin),
  };
}

export function spawnRequest(cmd: string, args: readonly string[] | undefined, options: SpawnOptions): SpawnRequest {
  return {
    ...processRequest(cmd, args, options),
    stdin: checkFlag('stdin', options.stdin),
    tty: terminal(options.tty),
    detachable: checkFlag('detachable', options.detachable),
  };
}

export function attachRequest(sessionId: string, options: AttachOptions): AttachRequest {
  return {
    sessionId: checkSessionId(sessionId),
    from: checkFrom(options.from),
    stdin: checkFlag('stdin', options.stdin),
    signal: options.signal,
  };
}

export function terminateRequest(sessionId: string, options: TerminateOptions): TerminateRequest {
  const { timeoutMs = DEFAULTS.terminateGraceMs, mode = 'graceful', signal } = options;
  if (mode !== 'graceful' && mode !== 'force') throw invalidArgument("mode: expected 'graceful' or 'force'");
  return { sessionId: checkSessionId(sessionId), timeoutMs: checkGraceMs(timeoutMs), mode, signal };
}

export function writeFileRequest(path: string, content: FileContent, options: WriteFileOptions): WriteFileRequest {
  const { mode, signal } = options;
  return {
    path: checkPath('path', path),
    mode: mode === undefined ? undefined : checkMode(mode),
    content: toByteSource('content', content),
    signal,
  };
}

function processRequest(cmd: string, args: readonly string[] | undefined, options: ProcessOptions): ProcessRequest {
  return {
    ...checkCommand(cmd, args),
    env: checkEnv(options.env),
    dir: options.dir === undefined ? undefined : checkPath('dir', options.dir),
    signal: options.signal,
  };
}

function terminal(tty: SpawnOptions['tty']): SpawnRequest['tty'] {
  if (typeof tty === 'object') return checkTerminalSize('tty', tty);
  return checkFlag('tty', tty) ? DEFAULTS.terminal : undefined;
}
