import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/** The part of `@fly/sprites` 0.1.0 that is used here. */
export interface SpritesSdk {
  readonly SpritesClient: new (token: string, options: { readonly baseURL: string }) => SdkClient;
}

export interface SdkClient {
  createSprite(name: string, options?: Readonly<Record<string, unknown>>): Promise<SdkSprite>;
  getSprite(name: string): Promise<SdkSprite>;
  listAllSprites(prefix?: string): Promise<SdkSprite[]>;
  listSprites(options: { readonly maxResults: number }): Promise<Readonly<Record<string, unknown>>>;
  updateSprite(name: string, options: Readonly<Record<string, unknown>>): Promise<SdkSprite>;
  checkSprite(name: string): Promise<{ readonly status: string }>;
  watchSprites(): Promise<Stream<{ readonly name: string; readonly status: string }>>;
}

export interface Stream<T> extends AsyncIterable<T> {
  close(): void;
}

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export interface SdkCommand extends EventEmitter {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  wait(): Promise<number>;
  resize(cols: number, rows: number): void;
  signal(name: string): void;
}

export interface StreamLine {
  readonly type: string;
  readonly data?: string;
  readonly signal?: string;
  readonly exitCode?: number;
}

export interface SdkSprite {
  readonly name: string;
  readonly id: string;
  readonly status: string;
  readonly url: string;
  readonly urlSettings: unknown;
  readonly labels: readonly string[];
  execFile(file: string, args: readonly string[], options?: Readonly<Record<string, unknown>>): Promise<ExecResult>;
  execFileHTTP(file: string, args: readonly string[], options?: Readonly<Record<string, unknown>>): Promise<ExecResult>;
  spawn(command: string, args: readonly string[], options?: Readonly<Record<string, unknown>>): SdkCommand;
  createSession(command: string, args: readonly string[]): SdkCommand;
  attachSession(id: string): SdkCommand;
  listSessions(): Promise<readonly { readonly id: string; readonly tty: boolean; readonly command: string }[]>;
  killSession(id: string, signal?: string, timeout?: string): Promise<Stream<StreamLine>>;
  createCheckpoint(comment?: string): Promise<Stream<StreamLine>>;
  listCheckpoints(): Promise<readonly { readonly id: string; readonly comment?: string }[]>;
  getCheckpoint(id: string): Promise<{ readonly id: string; readonly comment?: string }>;
  restoreCheckpoint(id: string): Promise<Stream<StreamLine>>;
  getNetworkPolicy(): Promise<unknown>;
  updateNetworkPolicy(policy: unknown): Promise<void>;
  filesystem(workingDir?: string): SdkFilesystem;
  delete(): Promise<void>;
}

export interface SdkFilesystem {
  readFile(path: string, encoding?: 'utf8'): Promise<string | Buffer>;
  writeFile(path: string, data: string | Buffer, options?: { readonly mode: number }): Promise<void>;
  readdir(path: string, options?: { readonly recursive: true }): Promise<string[]>;
  mkdir(path: string, options?: { readonly recursive: true }): Promise<void>;
  rm(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>;
  stat(path: string): Promise<{ readonly size: number; readonly mode: number }>;
  rename(from: string, to: string): Promise<void>;
  copyFile(from: string, to: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  exists(path: string): Promise<boolean>;
}
