import { systemClock, type Clock } from '#libs/protocol';
import { noSandbox } from './fake-errors.js';
import { FAKE_LIMITS, type FakeLimits } from './fake-limits.js';
import type { FakeProgram } from './fake-program.js';
import { FakeSandbox, type FakeMachineContext } from './fake-sandbox.js';
import type { FakeScript } from './find-program.js';
import { wordsOf } from './instruction.js';
import type { ScriptedSession } from './scripted-session.js';

/** What fakes share: a clock, a script, limits. */
export interface FakeMachineOptions {
  /** Dates count from the Unix epoch on a clock that is given. @default systemClock */
  readonly clock?: Clock;
  /**
   * Commands as code, by name; they go before words. A path runs the file that lies there, by the program that its
   * first line names (`#!/bin/sh` is `sh`); one that is not executable is exit 126.
   *
   * @default none
   */
  readonly programs?: Readonly<Record<string, FakeProgram>>;
  /**
   * Gives the words that a command is played from, so that code which runs `git` or `npm` can be tested as it is:
   * `(cmd) => (cmd === 'git' ? ['out:main', 'exit:0'] : ['exit:1'])`. Words that are no instructions are exit 127.
   *
   * @default the command's own words
   */
  readonly script?: FakeScript;
  /** What is given replaces its default in {@link FAKE_LIMITS}. */
  readonly limits?: Partial<FakeLimits>;
  /** What a suspend does to running commands: TERM, or let them stand still until the resume. @default 'stop' */
  readonly onSuspend?: 'stop' | 'freeze';
}

/** Sandboxes in memory, by name. */
export class FakeMachine {
  readonly clock: Clock;
  readonly limits: FakeLimits;
  readonly onSuspend: 'stop' | 'freeze';
  readonly #context: FakeMachineContext;
  readonly #sandboxes = new Map<string, FakeSandbox>();
  #instances = 0;
  #sessions = 0;
  #checkpoints = 0;

  constructor({ clock, programs = {}, script = wordsOf, limits, onSuspend = 'stop' }: FakeMachineOptions = {}) {
    this.clock = clock ?? systemClock;
    this.limits = { ...FAKE_LIMITS, ...limits };
    this.onSuspend = onSuspend;
    this.#context = {
      clock: this.clock,
      epochMs: clock === undefined ? performance.timeOrigin : 0,
      limits: this.limits,
      commands: { programs, script },
      onSuspend,
      nextSessionId: () => `s-${++this.#sessions}`,
      nextCheckpointId: () => `c-${++this.#checkpoints}`,
    };
  }

  get names(): string[] {
    return [...this.#sandboxes.keys()];
  }

  /** A session in whichever sandbox it is. */
  findSession(id: string): ScriptedSession | undefined {
    for (const sandbox of this.#sandboxes.values()) {
      const session = sandbox.findSession(id);
      if (session !== undefined) return session;
    }
    return undefined;
  }

  find(name: string): FakeSandbox | undefined {
    return this.#sandboxes.get(name);
  }

  /** @throws {SandboxError} `not_found`, also for another incarnation than `instanceId` */
  get(name: string, instanceId?: string): FakeSandbox {
    const sandbox = this.find(name);
    if (sandbox === undefined || (instanceId !== undefined && sandbox.instanceId !== instanceId)) throw noSandbox(name);
    return sandbox;
  }

  /** The one that exists, or a new one. */
  create(name: string): FakeSandbox {
    let sandbox = this.find(name);
    if (sandbox === undefined) {
      sandbox = new FakeSandbox(name, `i-${++this.#instances}`, this.#context);
      this.#sandboxes.set(name, sandbox);
    }
    return sandbox;
  }

  /**
   * Forgets it at once. Resolves when nothing of it runs any more. One that is gone, or another incarnation, is left at
   * that.
   */
  async destroy(name: string, instanceId?: string): Promise<void> {
    const sandbox = this.find(name);
    if (sandbox === undefined || (instanceId !== undefined && sandbox.instanceId !== instanceId)) return;
    this.#sandboxes.delete(name);
    await sandbox.stopAll();
  }

  /** The transport to every reader breaks. */
  cut(): void {
    for (const sandbox of this.#sandboxes.values()) sandbox.cut();
  }

  /** Ends everything that runs, at once. */
  endAll(): void {
    for (const sandbox of this.#sandboxes.values()) sandbox.endAll();
  }
}
