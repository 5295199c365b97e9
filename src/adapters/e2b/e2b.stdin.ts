import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { closedBeforeExit, commandExited } from '../common/journal-errors.js';
import type { SessionId } from '../common/session-id.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import type { E2bInput } from './e2b.input.js';
import type { E2bMachine } from './e2b.machine.js';
import { findSession } from './e2b.sessions.js';

/** How long after its last input the end of a command may be heard of. */
const ENDING_MS = 2_000;

export interface SessionStdinInit {
  readonly machine: E2bMachine;
  readonly id: SessionId;
  readonly input: E2bInput;
  /** Whether its pid is still its own for certain, so that nothing has to be asked. */
  readonly isCertain: () => boolean;
  readonly owners: StdinOwners;
  /** Settles with the command. */
  readonly ended: Promise<unknown>;
}

/** The stdin of a session, of whoever asked for it last. It needs no stream: a write goes to the pid of the session. */
export class SessionStdin {
  readonly #init: SessionStdinInit;
  readonly #ended: Promise<unknown>;
  readonly #owner: ReturnType<StdinOwners['take']>;

  constructor(init: SessionStdinInit) {
    const { owners, machine, id, ended } = init;
    this.#init = init;
    this.#ended = Promise.allSettled([ended]);
    this.#owner = owners.take(`${machine.id}/${id.pid}-${id.nonce}`);
    void this.#ended.then(this.#owner.release);
  }

  write(data: Uint8Array): Promise<void> {
    return this.#with((input) => input.write(data));
  }

  closeStdin(): Promise<void> {
    return this.#with((input) => input.closeStdin()).catch((error: unknown) => {
      if (!(error instanceof SandboxError) || error.code !== 'command_exited') throw error;
    });
  }

  close(): void {
    this.#owner.release();
    this.#init.input.close();
  }

  async #with(work: (input: E2bInput) => Promise<void>): Promise<void> {
    this.#owner.check();
    if (!this.#init.isCertain() && !(await this.#isThere())) return this.#over(commandExited());
    await work(this.#init.input).catch((error: unknown) => {
      if (!(error instanceof SandboxError)) throw error;
      if (error.code === 'command_exited' || error.code === 'write_failed') return this.#over(error);
      // The sandbox is gone, and the command with it.
      if (error.code === 'not_found') return this.#over(closedBeforeExit(error).with({ effect: error.effect }));
      throw error;
    });
  }

  async #isThere(): Promise<boolean> {
    const { machine, id } = this.#init;
    const find = (deadline: Deadline) => findSession(machine, id, deadline);
    return (await withinDeadline(machine.control.options.timeoutMs, undefined, find)) !== undefined;
  }

  /** The output of a command that has ended says so a little later, which answers a write. */
  async #over(failure: SandboxError): Promise<never> {
    await Promise.race([this.#ended, delay(ENDING_MS, undefined, { ref: false })]);
    // By now a write that the end of the command answers was answered.
    await delay(0);
    throw failure;
  }
}
