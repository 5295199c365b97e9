/** The part of `e2b` 2.51.0 that is used here. */
export interface E2bSdk {
  readonly Sandbox: SdkSandboxClass;
}

export interface SdkConnection {
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly sandboxUrl: string;
}

export interface SdkInfo {
  readonly sandboxId: string;
  readonly state: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly startedAt: Date;
  readonly endAt: Date;
}

export interface SdkPaginator {
  readonly hasNext: boolean;
  nextItems(): Promise<SdkInfo[]>;
}

type Options = Readonly<Record<string, unknown>>;

export interface SdkSandboxClass {
  create(options: SdkConnection & Options): Promise<SdkSandbox>;
  connect(id: string, options: SdkConnection & Options): Promise<SdkSandbox>;
  list(options: SdkConnection & Options): SdkPaginator;
  kill(id: string, options: SdkConnection): Promise<boolean>;
}

export interface SdkSandbox {
  readonly sandboxId: string;
  readonly commands: SdkCommands;
  readonly files: SdkFiles;
  readonly pty: SdkPty;
  getInfo(): Promise<SdkInfo>;
  isRunning(): Promise<boolean>;
  setTimeout(ms: number): Promise<void>;
  pause(): Promise<boolean>;
  connect(options?: Options): Promise<SdkSandbox>;
  updateNetwork(policy: Options): Promise<void>;
  createSnapshot(): Promise<{ readonly snapshotId: string }>;
  kill(): Promise<boolean>;
}

export interface SdkResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SdkHandle {
  readonly pid: number;
  readonly stdout: string;
  wait(): Promise<SdkResult>;
  disconnect(): Promise<void>;
  kill(): Promise<boolean>;
}

export interface SdkCommands {
  run(command: string, options: Options & { readonly background: true }): Promise<SdkHandle>;
  run(command: string, options?: Options): Promise<SdkResult>;
  connect(pid: number, options?: Options): Promise<SdkHandle>;
  list(): Promise<readonly { readonly pid: number; readonly cmd: string; readonly args: readonly string[] }[]>;
  sendStdin(pid: number, data: string): Promise<void>;
  closeStdin(pid: number): Promise<void>;
  kill(pid: number): Promise<boolean>;
}

export interface SdkPty {
  create(options: Options): Promise<SdkHandle>;
  sendInput(pid: number, data: Uint8Array): Promise<void>;
  resize(pid: number, size: { readonly cols: number; readonly rows: number }): Promise<void>;
  kill(pid: number): Promise<boolean>;
}

export interface SdkEntry {
  readonly name: string;
  readonly path: string;
  readonly type: string;
  readonly size: number;
}

export interface SdkFiles {
  write(path: string, data: string | ArrayBuffer | ReadableStream): Promise<SdkEntry>;
  read(path: string): Promise<string>;
  read(path: string, options: { readonly format: 'bytes' }): Promise<Uint8Array>;
  list(path: string, options?: Options): Promise<SdkEntry[]>;
  makeDir(path: string): Promise<boolean>;
  exists(path: string): Promise<boolean>;
  getInfo(path: string): Promise<SdkEntry>;
  rename(from: string, to: string): Promise<SdkEntry>;
  remove(path: string): Promise<void>;
}
