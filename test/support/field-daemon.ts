import { once } from 'node:events';
import { WebSocket } from 'ws';
import { FieldSession, jitter } from './field-session.js';

export interface FieldDaemonOptions {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  /** @default 10 s */
  readonly pingEveryMs?: number;
  /** How long a ping may stay unanswered before the socket is dropped. @default 5 s */
  readonly patienceMs?: number;
}

interface FieldRequest {
  readonly id: number;
  readonly op: string;
  readonly name?: string | null;
  readonly cmd?: string;
  readonly args?: readonly string[] | null;
  readonly data?: string;
  readonly path?: string;
  readonly stdin?: boolean | null;
  readonly session_id?: string;
  readonly timeout_ms?: number | null;
}

type Outcome = { result: Record<string, unknown>; after?: () => Promise<void> } | { error: string; detail: string };

/**
 * A daemon of another make, as the first ones in the field are: it dials without `instance`, its output has no
 * `offset`, every request runs in a task of its own, and after spawn and after attach the whole journal is replayed,
 * tagged, under the session's lock. Unknown members are ignored, null is absent, and id 0 gets a reply like any other.
 */
export class FieldDaemon {
  readonly sandboxes = new Map<string, { status: 'running' | 'suspended'; files: Map<string, Buffer> }>();
  readonly sessions = new Map<string, FieldSession>();
  /** Requests in the order in which they came in. */
  readonly requests: FieldRequest[] = [];
  /** Runs between the reply to an attach and its replay. */
  beforeReplay: ((session: FieldSession, request: FieldRequest) => void | Promise<void>) | undefined;
  /** Pings that the platform did not answer in time. */
  unanswered = 0;
  closed: { code: number; reason: string } | undefined;
  #socket: WebSocket;
  #sequence = 0;
  #timers: NodeJS.Timeout[] = [];

  private constructor(readonly options: FieldDaemonOptions) {
    this.#socket = this.#dial();
  }

  static async connect(options: FieldDaemonOptions): Promise<FieldDaemon> {
    const daemon = new FieldDaemon(options);
    await once(daemon.#socket, 'open');
    daemon.#keepAlive();
    return daemon;
  }

  /** Bytes that wait on the socket because the platform does not read. */
  get queuedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  get online(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Sends a frame that nobody asked for. */
  send(frame: Record<string, unknown>): void {
    if (this.online) this.#socket.send(JSON.stringify(frame));
  }

  /** Drops the transport and dials again; the sessions live on, detached. */
  async reconnect(): Promise<void> {
    await this.#drop();
    this.#socket = this.#dial();
    await once(this.#socket, 'open');
    this.#keepAlive();
  }

  async close(): Promise<void> {
    await this.#drop();
    for (const session of this.sessions.values()) session.release();
  }

  async #drop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    if (this.#socket.readyState !== WebSocket.CLOSED) {
      const closed = once(this.#socket, 'close');
      this.#socket.terminate();
      await closed;
    }
    for (const session of this.sessions.values()) await session.detach();
  }

  #dial(): WebSocket {
    const { url, token, name } = this.options;
    const target = new URL('/api/runners/ws', url.replace(/^http/, 'ws'));
    target.search = new URLSearchParams({
      name,
      hostname: 'field',
      os: 'linux',
      arch: 'arm64',
      version: '0.3.1',
      root: '/srv',
    }).toString();
    const socket = new WebSocket(target, { headers: { authorization: `Bearer ${token}` }, perMessageDeflate: false });
    socket.on('message', (data) => this.#received(socket, JSON.parse((data as Buffer).toString()) as FieldRequest));
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    socket.on('error', () => {});
    return socket;
  }

  #keepAlive(): void {
    const { pingEveryMs = 10_000, patienceMs = 5_000 } = this.options;
    const socket = this.#socket;
    const every = setInterval(() => {
      const patience = setTimeout(() => {
        this.unanswered += 1;
        socket.terminate();
      }, patienceMs);
      this.#timers.push(patience);
      socket.once('pong', () => clearTimeout(patience));
      socket.ping();
    }, pingEveryMs);
    this.#timers.push(every);
    socket.once('close', () => clearInterval(every));
  }

  #received(socket: WebSocket, request: FieldRequest): void {
    this.requests.push(request);
    const emit = (frame: Record<string, unknown>): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
    };
    void this.#task(request, emit);
  }

  async #task(request: FieldRequest, emit: (frame: Record<string, unknown>) => void): Promise<void> {
    await jitter();
    const outcome = await this.#handle(request, emit);
    if ('error' in outcome) {
      emit({ id: request.id, ok: false, ...outcome });
      return;
    }
    emit({ id: request.id, ok: true, result: outcome.result });
    await outcome.after?.();
  }

  async #handle(request: FieldRequest, emit: (frame: Record<string, unknown>) => void): Promise<Outcome> {
    const name = request.name ?? '';
    if (request.op === 'create') {
      if (!this.sandboxes.has(name)) this.sandboxes.set(name, { status: 'running', files: new Map() });
      return { result: {} };
    }
    if (request.op === 'list') return { result: { names: [...this.sandboxes.keys()] } };
    if (request.op === 'destroy') return this.#destroy(name);
    const session = this.sessions.get(request.session_id ?? '');
    if (request.op === 'detach') {
      await session?.detach();
      return { result: {} };
    }
    if (['stdin', 'stdin_close', 'attach'].includes(request.op)) {
      return session ? this.#ofSession(session, request, emit) : { error: 'not_found', detail: 'no such session' };
    }
    return this.#ofSandbox(name, request, emit);
  }

  async #destroy(name: string): Promise<Outcome> {
    for (const session of this.sessions.values()) {
      if (session.sandbox !== name) continue;
      await session.end(137);
      this.sessions.delete(session.id);
    }
    this.sandboxes.delete(name);
    return { result: {} };
  }

  async #ofSandbox(
    name: string,
    request: FieldRequest,
    emit: (frame: Record<string, unknown>) => void,
  ): Promise<Outcome> {
    const sandbox = this.sandboxes.get(name);
    if (!sandbox) return { error: 'not_found', detail: `no sandbox ${name}` };
    switch (request.op) {
      case 'get':
        return { result: { status: sandbox.status, path: `/srv/${name}` } };
      case 'suspend':
      case 'resume':
        sandbox.status = request.op === 'suspend' ? 'suspended' : 'running';
        return { result: {} };
      case 'write_file':
        sandbox.files.set(request.path ?? '', Buffer.from(request.data ?? '', 'base64'));
        return { result: {} };
      case 'exec':
        return this.#exec(name, request);
      case 'spawn': {
        const session = this.#start(name, request, `s-${Math.floor(Date.now() / 1_000)}-${(this.#sequence += 1)}`);
        this.sessions.set(session.id, session);
        void session.run();
        return { result: { session_id: session.id }, after: () => session.attach(request.id, emit) };
      }
      case 'list_sessions':
        return { result: { sessions: [...this.sessions.values()].filter((s) => s.sandbox === name).map(listed) } };
      default:
        return { error: 'not_supported', detail: `unknown op ${request.op}` };
    }
  }

  async #ofSession(
    session: FieldSession,
    request: FieldRequest,
    emit: (frame: Record<string, unknown>) => void,
  ): Promise<Outcome> {
    if (request.op === 'attach') {
      const after = async (): Promise<void> => {
        await this.beforeReplay?.(session, request);
        await session.attach(request.id, emit);
      };
      return { result: { session_id: session.id }, after };
    }
    if (request.op === 'stdin_close') {
      session.closeStdin();
      return { result: {} };
    }
    const written = await session.write(Buffer.from(request.data ?? '', 'base64'));
    return written === 'ok' ? { result: {} } : { error: written, detail: 'stdin' };
  }

  /** Gathers what the words print; at the deadline the process is killed, which these daemons report as code 137. */
  async #exec(name: string, request: FieldRequest): Promise<Outcome> {
    const printed: Buffer[] = [];
    const session = this.#start(name, { ...request, stdin: false }, 'exec');
    await session.attach(0, (frame) => {
      if (frame['stream'] === 'stdout') printed.push(Buffer.from(String(frame['data']), 'base64'));
    });
    let timer: NodeJS.Timeout | undefined;
    const killed = new Promise<number>((resolve) => {
      if (typeof request.timeout_ms !== 'number') return;
      timer = setTimeout(() => resolve(137), request.timeout_ms);
      this.#timers.push(timer);
    });
    const code = await Promise.race([session.run(), killed]);
    clearTimeout(timer);
    session.release();
    return { result: { output: Buffer.concat(printed).toString('base64'), code } };
  }

  #start(name: string, { cmd = '', args, stdin }: FieldRequest, id: string): FieldSession {
    return new FieldSession(id, name, [cmd, ...(args ?? [])], stdin === true);
  }
}

/** As the field's daemons list them: dates in RFC 3339 with nanoseconds, finished sessions too. */
function listed(session: FieldSession): Record<string, unknown> {
  const date = session.createdAt.toISOString().replace('Z', '123456Z');
  return {
    id: session.id,
    command: session.words.join(' '),
    created_at: date,
    last_activity_at: date,
    tty: false,
    exit_code: session.exitCode,
    color: 'unknown to the platform',
  };
}
