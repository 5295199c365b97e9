import type { Heal, SubjectFaults } from '#libs/conformance';
import type { SandboxOperation } from '#libs/contract';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import type { Answer, CallMatch, Faults, InstalledFault, StreamRewrite } from '#libs/emulators';

/** How a provider's service can be broken. */
export interface HostedFaultOptions {
  /** The way to the service. */
  readonly proxy: TcpProxy;
  readonly faults: Faults;
  /** The request that does an operation's work. What is left out is not broken. */
  readonly requests: Partial<Record<SandboxOperation, CallMatch>>;
  /** The request that streams a command's output. */
  readonly output: CallMatch;
  /** The request for a page of the listing that is not the first. */
  readonly laterPage: CallMatch;
  /** Cuts a stream once so many bytes of output went by. */
  readonly cut: (bytes: number) => StreamRewrite;
  /** Ends a stream in good order in the place of its exit. */
  readonly withoutExit: () => StreamRewrite;
  /** Lets output follow the exit. */
  readonly trailing: () => StreamRewrite;
  /** Lets every piece of output come twice. @default frames are not repeated */
  readonly repeating?: () => StreamRewrite;
  /** Loses the answer to an operation that is carried out over a stream. @default its connection is reset */
  readonly lost?: Partial<Record<SandboxOperation, () => StreamRewrite>>;
}

/** Breaks an emulated service as the suite asks for it. */
export function hostedFaults(options: HostedFaultOptions): SubjectFaults {
  const { faults, requests, output, laterPage } = options;
  const requestOf = (operation: SandboxOperation): CallMatch => {
    const match = requests[operation];
    if (match === undefined) throw new Error(`no request is known to do the work of ${operation}`);
    return match;
  };
  const repeatFrames = (rewrite: () => StreamRewrite) => () => healed(faults.add({ ...output, rewrite: rewrite() }));
  return {
    cutAfter: (bytes) => healed(faults.add({ ...output, rewrite: options.cut(bytes) })),
    closeBeforeExit: () => healed(faults.add({ ...output, rewrite: options.withoutExit() })),
    lateFrames: () => healed(faults.add({ ...output, rewrite: options.trailing() })),
    failBefore: (operation) => healed(faults.add({ ...requestOf(operation), answer: OVERLOADED })),
    limitRate: (operation, retryAfterMs) =>
      healed(faults.add({ ...requestOf(operation), answer: tooMany(retryAfterMs) })),
    failAfter: (operation) => {
      const rewrite = options.lost?.[operation]?.();
      const loss = rewrite ? { rewrite } : ({ reset: true, effect: 'applied' } as const);
      return healed(faults.add({ ...requestOf(operation), ...loss }));
    },
    failPage: () => healed(faults.add({ ...laterPage, answer: OVERLOADED, times: Infinity })),
    stall: () => options.proxy.stall(),
    ...(options.repeating && { repeatFrames: repeatFrames(options.repeating) }),
  };
}

/** Counts the requests that reach an emulator from here on. */
export function requestCounter(faults: Faults): () => number {
  let count = 0;
  const see = (): boolean => {
    count += 1;
    return false;
  };
  faults.add({ where: see, times: Infinity });
  return () => count;
}

const OVERLOADED = { status: 503, json: { error: 'overloaded' } } as const;

function tooMany(retryAfterMs: number): Answer {
  return { status: 429, headers: { 'retry-after': String(retryAfterMs / 1000) }, json: { error: 'too many requests' } };
}

function healed(fault: InstalledFault): Heal {
  return () => fault.remove();
}
