import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { SandboxError } from '#libs/contract/core';
import { LocalKeeper, RootLockedError } from '#libs/process';
import { Daemon } from './daemon.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { guardProcess } from './guard-process.js';
import { helpText } from './help.js';
import { createLog, type Log } from './log.js';
import { readOptions, type Invocation, type RunnerOptions } from './options.js';
import { UsageError } from './usage-error.js';
import { packageVersion } from './version.js';

const write = (line: string): void => void process.stderr.write(line);

/** The whole program: from the arguments to the exit code. */
export async function runProgram(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<ExitCode> {
  let invocation: Invocation;
  try {
    invocation = readOptions(argv, env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    write(`sandbox-runner: ${error.message}\n`);
    return EXIT.usage;
  }
  if (typeof invocation === 'object') return await runDaemon(invocation);
  process.stdout.write(invocation === 'help' ? helpText(packageVersion()) : `${packageVersion()}\n`);
  return EXIT.ok;
}

async function runDaemon(options: RunnerOptions): Promise<ExitCode> {
  const { url, token, root, name, logLevel } = options;
  const log = createLog(logLevel, write);
  // Whoever read the log may be gone; that ends no session.
  process.stderr.on('error', () => {});
  for (const warning of options.warnings) log.warn(warning);
  // The kernel hands every orphan to process 1, and Node waits for none but its own children.
  if (process.pid === 1) log.warn('this is process 1, which has to reap orphans: run the daemon behind an init');
  const keeper = await openKeeper(root, log);
  if (typeof keeper === 'number') return keeper;
  const version = packageVersion();
  const query = {
    name,
    hostname: hostname(),
    os: process.platform,
    arch: process.arch,
    version,
    root,
    instance: randomBytes(16).toString('hex'),
  };
  const daemon = new Daemon({ url, token, query }, { keeper, log });
  const unguard = guardProcess(daemon, log, options);
  log.info('sandbox-runner started', { version, pid: process.pid, root, url });
  try {
    const code = await daemon.run();
    log.info('stopped', { code });
    return code;
  } catch (error) {
    log.error(error instanceof SandboxError ? error.message : 'it could not be ended in good order', { root });
    return EXIT.failed;
  } finally {
    unguard();
  }
}

/** The keeper, or the exit code if the root cannot be had. */
async function openKeeper(root: string, log: Log): Promise<LocalKeeper | ExitCode> {
  try {
    return await LocalKeeper.open({ root, log: (message) => log.warn(message) });
  } catch (error) {
    if (error instanceof RootLockedError) {
      log.error(`another daemon (pid ${error.pid}) holds the root ${root}: stop it, or give another --root`);
      return EXIT.rootHeld;
    }
    const reason = error instanceof Error ? error.message : 'unknown';
    log.error(`cannot use the root ${root}: ${reason}`);
    return EXIT.failed;
  }
}
