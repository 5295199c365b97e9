import type { SandboxOperation } from '#libs/contract';
import type { Wire, WireFault, WireFrame } from './runner-wire.js';

/** What a call is on the wire; an exec that takes stdin is a spawn there. */
const OPS: Partial<Record<SandboxOperation, readonly string[]>> = {
  create: ['create'],
  get: ['get'],
  destroy: ['destroy'],
  listAllNames: ['list'],
  suspend: ['suspend'],
  resume: ['resume'],
  writeFile: ['write_file'],
  exec: ['exec', 'spawn'],
  spawn: ['spawn'],
  listSessions: ['list_sessions'],
  attach: ['attach'],
  hostPath: ['get'],
};

/** The next request of `operation` is refused without reaching the daemon. */
export function refusing(operation: SandboxOperation): WireFault {
  const isNext = nextOf(operation);
  return {
    request: (frame) =>
      isNext(frame) ? ({ id: frame.id, ok: false, error: 'unavailable', effect: 'none' } as WireFrame) : undefined,
  };
}

/** The connection breaks in place of the reply to the next request of `operation`. */
export function losingReply(operation: SandboxOperation, struck: () => void): WireFault {
  const isNext = nextOf(operation);
  let id: number | undefined;
  return {
    request(frame) {
      if (isNext(frame)) id = frame.id;
      return undefined;
    },
    arriving(frame, wire) {
      if (id === undefined || frame.id !== id) return undefined;
      struck();
      wire.cut();
      return [];
    },
  };
}

/**
 * The connection breaks once `bytes` bytes of the next session's output have arrived: what lies behind them in the same
 * frame is lost with it. The output of an exec comes with its reply, so it breaks once that request is sent.
 */
export function cutting(bytes: number, struck: () => void): WireFault {
  let left = bytes;
  const cut = (wire: Wire): void => {
    struck();
    wire.cut();
  };
  return ofNextCommand({
    execSent: (wire) => setImmediate(() => cut(wire)),
    started: (wire) => {
      // The reply comes first.
      if (left === 0) setImmediate(() => cut(wire));
    },
    frame(frame, wire) {
      if (left === 0 || frame.data === undefined) return [];
      const data = Buffer.from(frame.data, 'base64').subarray(0, left);
      left -= data.byteLength;
      if (left === 0) setImmediate(() => cut(wire));
      return [{ ...frame, data: data.toString('base64') }];
    },
  });
}

/** The connection is closed in good order in place of the exit. */
export function closingBeforeExit(struck: () => void): WireFault {
  const close = (wire: Wire): readonly WireFrame[] => {
    struck();
    setImmediate(() => wire.close());
    return [];
  };
  return ofNextCommand({
    frame: (frame, wire) => (frame.stream === 'exit' ? close(wire) : undefined),
    execReply: (_, wire) => close(wire),
  });
}

/** Everything comes twice. */
export function repeating(): WireFault {
  return { arriving: (frame) => [frame, frame] };
}

/** Behind the end of the next command come an earlier frame again, bytes that it never wrote, and another exit. */
export function trailing(): WireFault {
  let last: WireFrame | undefined;
  let end = 0;
  return ofNextCommand({
    frame(frame) {
      if (frame.stream === 'stdout') {
        last = frame;
        end = (frame.offset ?? 0) + Buffer.from(frame.data ?? '', 'base64').byteLength;
      }
      if (frame.stream !== 'exit') return undefined;
      const more = { ...frame, stream: 'stdout', offset: end, data: Buffer.from('late').toString('base64') };
      return [frame, ...(last ? [last] : []), more, { ...frame, code: ((frame.code ?? 0) + 1) % 256 }];
    },
    execReply: (frame) => [frame, { ...frame, result: { ...frame.result, code: 99 } }],
  });
}

interface OfCommand {
  /** Its exec request was sent. */
  execSent?(wire: Wire): void;
  execReply?(frame: WireFrame, wire: Wire): readonly WireFrame[] | undefined;
  /** Its session was told. */
  started?(wire: Wire): void;
  /** A frame of its session. */
  frame(frame: WireFrame, wire: Wire): readonly WireFrame[] | undefined;
}

/** Looks at the next command alone. */
function ofNextCommand(of: OfCommand): WireFault {
  let request: WireFrame | undefined;
  let session: unknown;
  return {
    request(frame, wire) {
      if (request !== undefined || !['exec', 'spawn', 'attach'].includes(frame.op ?? '')) return undefined;
      request = frame;
      if (frame.op === 'exec') of.execSent?.(wire);
      return undefined;
    },
    arriving(frame, wire) {
      if (request === undefined) return undefined;
      if (session === undefined && frame.id === request.id && frame.stream === undefined) {
        if (request.op === 'exec') return of.execReply?.(frame, wire);
        session = frame.result?.['session_id'];
        of.started?.(wire);
        return undefined;
      }
      return session !== undefined && frame.session_id === session ? of.frame(frame, wire) : undefined;
    },
  };
}

function nextOf(operation: SandboxOperation): (frame: WireFrame) => boolean {
  const ops = OPS[operation];
  if (ops === undefined) throw new Error(`a runner has no ${operation} that could fail`);
  let seen = false;
  return ({ op = '' }) => {
    if (seen || !ops.includes(op)) return false;
    seen = true;
    return true;
  };
}
