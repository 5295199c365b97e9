import { ConnectFailure, type Message } from './connect-protocol.js';

/** What a `Start` asks for. */
export interface StartRequest {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly tag: string | undefined;
  readonly pty: { readonly cols: number; readonly rows: number } | undefined;
  readonly stdin: boolean;
}

/** @throws {ConnectFailure} `invalid_argument` */
export function startRequestOf({ process, pty, tag, stdin }: Message): StartRequest {
  const { cmd, args, envs, cwd } = Object(process) as Message;
  const list = args ?? [];
  const map = Object.entries(Object(envs) as object) as [string, unknown][];
  const strings = [cmd, cwd ?? '', tag ?? '', ...(Array.isArray(list) ? list : [0]), ...map.map(([, value]) => value)];
  if (!strings.every((text) => typeof text === 'string')) {
    throw new ConnectFailure('invalid_argument', 'unmarshal message: a field of process has the wrong type');
  }
  return {
    cmd: cmd as string,
    args: list as string[],
    envs: Object.fromEntries(map) as Record<string, string>,
    cwd: (cwd as string | undefined) ?? '',
    tag: tag as string | undefined,
    pty: pty === undefined || pty === null ? undefined : sizeOf(pty),
    stdin: stdin !== false,
  };
}

/** The size of a terminal; one that is not given is 80 by 24. */
export function sizeOf(pty: unknown): { cols: number; rows: number } {
  const { size } = Object(pty) as Message;
  const { cols, rows } = Object(size) as Message;
  return { cols: Number(cols) || 80, rows: Number(rows) || 24 };
}
