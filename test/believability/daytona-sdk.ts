import type { Readable } from 'node:stream';

/** The part of `@daytona/sdk` 0.216.0 that is used here. */
export interface DaytonaSdk {
  readonly Daytona: new (config: SdkConfig) => SdkClient;
}

export interface SdkConfig {
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly useDeprecatedPolling?: boolean;
}

export interface SdkClient extends AsyncDisposable {
  create(params?: Readonly<Record<string, unknown>>, options?: { readonly timeout: number }): Promise<SdkSandbox>;
  get(idOrName: string): Promise<SdkSandbox>;
  list(query?: Readonly<Record<string, unknown>>): AsyncIterableIterator<SdkSandbox>;
  delete(sandbox: SdkSandbox, timeout?: number, wait?: boolean): Promise<void>;
  readonly snapshot: {
    get(name: string): Promise<SdkSnapshot>;
    list(): Promise<{ readonly items: readonly SdkSnapshot[]; readonly total: number }>;
    delete(snapshot: SdkSnapshot): Promise<void>;
  };
}

export interface SdkSnapshot {
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

export interface SdkSandbox {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpu: number;
  readonly networkBlockAll: boolean;
  readonly domainAllowList?: string;
  readonly process: SdkProcess;
  readonly fs: SdkFileSystem;
  getWorkDir(): Promise<string>;
  getUserHomeDir(): Promise<string>;
  setLabels(labels: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  setAutostopInterval(minutes: number): Promise<void>;
  start(): Promise<void>;
  stop(timeout?: number, force?: boolean): Promise<void>;
  archive(): Promise<void>;
  delete(): Promise<void>;
  resize(size: Readonly<Record<string, number>>): Promise<void>;
  refreshData(): Promise<void>;
  createSnapshot(name: string): Promise<void>;
  updateNetworkSettings(settings: Readonly<Record<string, unknown>>): Promise<void>;
  getPreviewLink(port: number): Promise<{ readonly url: string; readonly token: string }>;
  getSignedPreviewUrl(port: number, seconds: number): Promise<{ readonly url: string; readonly token: string }>;
  expireSignedPreviewUrl(port: number, token: string): Promise<void>;
}

export interface SdkCommand {
  readonly id: string;
  readonly command: string;
  readonly exitCode?: number;
}

export interface SdkLogs {
  readonly stdout?: string;
  readonly stderr?: string;
}

export interface SdkSessionExec extends SdkLogs {
  readonly cmdId: string;
  readonly exitCode?: number;
}

export interface SdkProcess {
  executeCommand(
    command: string,
    cwd?: string,
    env?: Readonly<Record<string, string>>,
    timeoutSeconds?: number,
  ): Promise<{ readonly exitCode: number; readonly result: string }>;
  createSession(id: string): Promise<void>;
  getSession(id: string): Promise<{ readonly sessionId: string; readonly commands: readonly SdkCommand[] | null }>;
  listSessions(): Promise<readonly { readonly sessionId: string }[]>;
  deleteSession(id: string): Promise<void>;
  executeSessionCommand(id: string, request: Readonly<Record<string, unknown>>): Promise<SdkSessionExec>;
  getSessionCommand(id: string, commandId: string): Promise<SdkCommand>;
  getSessionCommandLogs(id: string, commandId: string): Promise<SdkLogs>;
  getSessionCommandLogs(
    id: string,
    commandId: string,
    onStdout: (chunk: string) => void,
    onStderr: (chunk: string) => void,
  ): Promise<void>;
  sendSessionCommandInput(id: string, commandId: string, data: string): Promise<void>;
  createPty(options: Readonly<Record<string, unknown>>): Promise<SdkPty>;
  connectPty(id: string, options: Readonly<Record<string, unknown>>): Promise<SdkPty>;
  listPtySessions(): Promise<readonly { readonly id: string; readonly cols: number }[]>;
  killPtySession(id: string): Promise<void>;
}

export interface SdkPty {
  waitForConnection(): Promise<void>;
  sendInput(data: string): Promise<void>;
  resize(cols: number, rows: number): Promise<unknown>;
  wait(): Promise<{ readonly exitCode?: number; readonly error?: string }>;
}

export interface SdkFileSystem {
  createFolder(path: string, mode: string): Promise<void>;
  deleteFile(path: string, recursive?: boolean): Promise<void>;
  downloadFile(path: string): Promise<Buffer>;
  downloadFileStream(path: string): Promise<Readable>;
  getFileDetails(path: string): Promise<{ readonly size: number; readonly permissions: string }>;
  listFiles(path: string): Promise<readonly { readonly name: string; readonly isDir: boolean }[]>;
  moveFiles(source: string, destination: string): Promise<void>;
  setFilePermissions(path: string, permissions: { readonly mode: string }): Promise<void>;
  uploadFile(file: Buffer, path: string): Promise<void>;
  uploadFiles(files: readonly { readonly source: Buffer; readonly destination: string }[]): Promise<void>;
}
