import type { SandboxCommand, SandboxHandle, SandboxSession } from '#libs/contract';
import { BoundedMap } from './bounded-map.js';

/** The newest are remembered: a list that still shows them is late by far less than it takes to see so many. */
const MAX_SEEN = 1000;

/** Sessions whose exit was seen here. A provider may list them for a moment longer, until their shim is gone too. */
export class SeenExits {
  readonly #seen = new BoundedMap<string, true>(MAX_SEEN);

  add({ name }: SandboxHandle, sessionId: string | undefined): void {
    this.#seen.set(`${name}/${sessionId}`, true);
  }

  /** Sees the exit of a command. */
  watch(command: SandboxCommand): SandboxCommand {
    const { handle, sessionId } = command;
    command.exit.then(
      () => this.add(handle, sessionId),
      () => {},
    );
    return command;
  }

  /** Those of a list that are not among them. */
  others({ name }: SandboxHandle, sessions: readonly SandboxSession[]): SandboxSession[] {
    return sessions.filter(({ id }) => !this.#seen.has(`${name}/${id}`));
  }
}
