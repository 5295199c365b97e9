import type { SubjectFaults } from '#libs/conformance';
import { SandboxError, type SandboxOperation } from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import type { FakeAdapter, FaultyOperation } from '#libs/testing';

/** Spoils what a session sends to the sink of its command. */
type Spoil = (sink: SessionSink) => SessionSink;

/** Between the sessions of a fake and the adapter, so that a defect of the adapter meets them as it would elsewhere. */
export function fakeFaults(adapter: FakeAdapter): SubjectFaults {
  let spoil: Spoil | undefined;
  const own = adapter as unknown as { sink(sink: SessionSink): SessionSink };
  const sink = own.sink.bind(adapter);
  own.sink = (to) => {
    const spoiled = spoil?.(sink(to)) ?? sink(to);
    spoil = undefined;
    return spoiled;
  };
  const arm = (next: Spoil) => {
    spoil = next;
    return () => {
      spoil = undefined;
    };
  };
  const fail = (operation: SandboxOperation, when: 'before' | 'after') => {
    const effect = when === 'before' ? 'none' : 'unknown';
    const error = new SandboxError('unavailable', { effect, message: 'as the test wants it' });
    adapter.failNext(operation as FaultyOperation, error, { when });
    return () => {};
  };
  return {
    cutAfter: (bytes) => arm((to) => cut(to, bytes)),
    closeBeforeExit: () =>
      arm((to) => ({ ...through(to), frame: (one) => (one.type === 'exit' ? end(to) : to.frame(one)) })),
    lateFrames: () => arm(trail),
    failBefore: (operation) => fail(operation, 'before'),
    failAfter: (operation) => fail(operation, 'after'),
    failPage: () => fail('listAllNames', 'before'),
  };
}

function cut(to: SessionSink, bytes: number): SessionSink {
  let left = bytes;
  if (left === 0) end(to);
  return {
    ...through(to),
    frame(frame) {
      if (left === 0) return;
      if (frame.type === 'exit') return to.frame(frame);
      const data = frame.data.subarray(0, left);
      left -= data.byteLength;
      to.frame({ ...frame, data });
      if (left === 0) end(to);
    },
  };
}

/** Behind the exit come bytes that were never written, and another exit. */
function trail(to: SessionSink): SessionSink {
  let offset = 0;
  return {
    ...through(to),
    frame(frame) {
      to.frame(frame);
      if (frame.type === 'stdout') offset = frame.offset + frame.data.byteLength;
      if (frame.type !== 'exit') return;
      to.frame({ type: 'stdout', offset, data: Buffer.from('late') });
      to.frame({ ...frame, exitCode: (frame.exitCode + 1) % 256 });
    },
  };
}

function through(to: SessionSink): SessionSink {
  return { frame: (frame) => to.frame(frame), error: (error) => to.error(error) };
}

function end(to: SessionSink): void {
  to.error(new SandboxError('unavailable', { detail: 'closed_before_exit', message: 'the transport broke' }));
}
