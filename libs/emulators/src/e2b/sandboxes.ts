import type { EmulatorRoot } from '../kit/emulator-root.js';
import { pause } from '../kit/pause.js';
import type { CreateRequest } from './create-request.js';
import type { E2bSettings } from './options.js';
import { noSuchSandbox, refusal } from './refusals.js';
import { Sandbox } from './sandbox.js';
import { Snapshots } from './snapshots.js';

const PATH_ID = /^([a-z0-9]+)(?:-([a-z0-9]+))?$/;

/** All sandboxes of the team, and what they can be made from. */
export class Sandboxes {
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly snapshots: Snapshots;

  constructor(
    readonly settings: E2bSettings,
    private readonly root: EmulatorRoot,
    private readonly closing: AbortSignal,
  ) {
    this.snapshots = new Snapshots(root);
  }

  /** In the order of creation; those that are being killed are among them. */
  get all(): readonly Sandbox[] {
    return [...this.#sandboxes.values()];
  }

  find(id: string): Sandbox | undefined {
    return this.#sandboxes.get(id);
  }

  /** @param pathId `<id>` or `<id>-<client id>` @throws {Refusal} 400, 404 */
  get(pathId: string): Sandbox {
    const id = PATH_ID.exec(pathId)?.[1];
    if (id === undefined) throw refusal(400, 'Invalid sandbox ID');
    const sandbox = this.find(id);
    if (!sandbox) throw noSuchSandbox(id);
    return sandbox;
  }

  /** @throws {Refusal} 404 template, 429 */
  async create(request: CreateRequest): Promise<Sandbox> {
    const snapshot = this.snapshots.find(request.templateId);
    const alias = request.templateId.split(':')[0]!;
    if (!snapshot && !this.settings.templates.includes(alias)) {
      throw refusal(404, `template '${request.templateId}' not found`);
    }
    this.#admit();
    const template = snapshot ? { id: snapshot.id } : { id: templateIdOf(alias), alias };
    const sandbox = new Sandbox(request, template, this.settings, this.root, {
      admit: () => this.#admit(),
      gone: ({ id }) => this.#sandboxes.delete(id),
      closing: this.closing,
    });
    this.#sandboxes.set(sandbox.id, sandbox);
    if (snapshot) await sandbox.fillFrom(snapshot.directory);
    await pause(this.settings.delayMs.create, this.closing);
    sandbox.lifecycle.begin(request.timeoutSeconds);
    return sandbox;
  }

  close(): void {
    for (const sandbox of this.#sandboxes.values()) sandbox.end();
  }

  #admit(): void {
    const limit = this.settings.sandboxLimit ?? Infinity;
    const running = this.all.filter(({ lifecycle }) => lifecycle.shown === 'running').length;
    if (running < limit) return;
    throw refusal(429, `you have reached the maximum number of concurrent E2B sandboxes (${limit})`);
  }
}

/** The same for the same name. */
function templateIdOf(alias: string): string {
  const text = Buffer.from(alias).toString('hex');
  return text.padEnd(20, '0').slice(0, 20);
}
