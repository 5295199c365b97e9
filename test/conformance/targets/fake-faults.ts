import { SandboxError } from '#libs/contract';
import type { SubjectFaults } from '#libs/conformance';
import type { SessionSink } from '#libs/protocol';
import type { FakeAdapter, FaultyOperation } from '#libs/testing';

/** Spoils what arrives of one command; `cut` breaks the transport of every one. */
export type OutputFault = (sink: SessionSink, cut: () => void) => SessionSink;

/** What a fake of the suite is asked to inject. */
export interface FaultyFake extends FakeAdapter {
  /** For the next command. @returns takes it back */
  spoilNext(fault: OutputFault): () => void;
}

/** Every fault of the suite. A fake has no pages: of a listing all comes or nothing. */
export function fakeFaults(fake: FaultyFake): SubjectFaults {
  const refused = new SandboxError('unavailable', { effect: 'none', message: 'not now' });
  const lost = new SandboxError('unavailable', { effect: 'unknown', message: 'the answer was lost' });
  return {
    cutAfter: (bytes) => fake.spoilNext(cutAfter(bytes)),
    closeBeforeExit: () => fake.spoilNext(closeBeforeExit),
    repeatFrames: () => fake.spoilNext(repeatFrames),
    lateFrames: () => fake.spoilNext(lateFrames),
    failBefore: (operation) => fake.failNext(operation as FaultyOperation, refused),
    limitRate: (operation, retryAfterMs) =>
      fake.failNext(operation as FaultyOperation, new SandboxError('rate_limited', { retryAfterMs })),
    failAfter: (operation) => fake.failNext(operation as FaultyOperation, lost, { when: 'after' }),
    failPage: () => fake.failNext('listAllNames', refused),
    stall: () => fake.stall(),
  };
}

/** Whatever comes twice is passed on once. */
export function eachByteOnce(sink: SessionSink): SessionSink {
  const next = { stdout: 0, stderr: 0 };
  return {
    frame(item) {
      if (item.type === 'exit') return sink.frame(item);
      const isNew = item.offset >= next[item.type];
      next[item.type] = Math.max(next[item.type], item.offset + item.data.byteLength);
      if (isNew) sink.frame(item);
    },
    error: (error) => sink.error(error),
  };
}

function cutAfter(bytes: number): OutputFault {
  return (sink, cut) => {
    let left = bytes;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      sink.error(closed());
      cut();
    };
    return {
      frame(item) {
        if (isOver) return;
        if (left === 0) return end();
        if (item.type === 'exit') return sink.frame(item);
        const data = item.data.subarray(0, left);
        left -= data.byteLength;
        sink.frame({ ...item, data });
        if (left === 0) end();
      },
      error: (error) => void (isOver || sink.error(error)),
    };
  };
}

function closeBeforeExit(sink: SessionSink): SessionSink {
  return {
    frame: (item) => (item.type === 'exit' ? sink.error(closed()) : sink.frame(item)),
    error: (error) => sink.error(error),
  };
}

function repeatFrames(sink: SessionSink): SessionSink {
  return {
    frame(item) {
      sink.frame(item);
      sink.frame(item);
    },
    error: (error) => sink.error(error),
  };
}

/** Behind the exit come bytes that were never written, and another exit. */
function lateFrames(sink: SessionSink): SessionSink {
  let end = 0;
  return {
    frame(item) {
      if (item.type === 'stdout') end = item.offset + item.data.byteLength;
      sink.frame(item);
      if (item.type !== 'exit') return;
      sink.frame({ type: 'stdout', offset: end, data: Buffer.from('late') });
      sink.frame({ type: 'exit', exitCode: (item.exitCode + 1) % 256 });
    },
    error: (error) => sink.error(error),
  };
}

function closed(): SandboxError {
  return new SandboxError('unavailable', { detail: 'closed_before_exit', effect: 'unknown', message: 'it was cut' });
}
