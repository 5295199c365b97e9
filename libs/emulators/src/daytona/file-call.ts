import { fileFailure, onPath } from './file-failure.js';
import { DaemonFailure } from './daemon-failure.js';
import type { ToolboxCall } from './toolbox-routes.js';

/** What the query of a call on files asks for. */
export class FileCall {
  constructor(readonly call: ToolboxCall) {}

  get #daemon() {
    return this.call.sandbox.settings.alternatives.daemon;
  }

  /** As the sandbox names it. @throws {DaemonFailure} 400 without one */
  path(name = 'path'): string {
    const path = this.call.exchange.query.get(name);
    if (!path) throw this.failure('EINVAL', name);
    return path;
  }

  flag(name: string): boolean {
    return this.call.exchange.query.get(name) === 'true';
  }

  /** Octal digits. @throws {DaemonFailure} 400 */
  mode(): number | undefined {
    const text = this.call.exchange.query.get('mode');
    if (!text) return undefined;
    if (!/^[0-7]{1,4}$/.test(text)) throw new DaemonFailure(400, `invalid mode: ${text}`, 'INVALID_FILE_PATH');
    return Number.parseInt(text, 8);
  }

  /** Where it lies on this machine. */
  async locate(path: string, follow = true): Promise<string> {
    return await this.call.sandbox.files.resolve(path, undefined, follow);
  }

  failure(code: string, path: string): Error {
    return fileFailure(code, path, this.#daemon);
  }

  async on<T>(path: string, act: (located: string) => Promise<T>, follow = true): Promise<T> {
    return await onPath(path, this.#daemon, async () => await act(await this.locate(path, follow)));
  }
}
