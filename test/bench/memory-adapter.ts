import { SandboxAdapter, type SandboxHandle, type SandboxInfo } from 'nestjs-sandbox';

const RUNNING: SandboxInfo = Object.freeze({ status: 'running', raw: undefined });

/** As little as an adapter can do: it knows its sandboxes and answers at once. */
export class MemoryAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<never> = new Set();
  readonly #names = new Set<string>();

  constructor() {
    super('memory');
  }

  protected override async doCreate(name: string): Promise<SandboxHandle> {
    this.#names.add(name);
    return this.buildHandle(name);
  }

  protected override async doGet({ name }: SandboxHandle): Promise<SandboxInfo> {
    return this.#names.has(name) ? RUNNING : unused();
  }

  protected override async doDestroy({ name }: SandboxHandle): Promise<void> {
    this.#names.delete(name);
  }

  protected override async doListAllNames(): Promise<string[]> {
    return [...this.#names];
  }

  protected override doWriteFile = unused;
  protected override doExec = unused;
  protected override doSpawn = unused;
}

async function unused(): Promise<never> {
  throw new Error('not measured');
}
