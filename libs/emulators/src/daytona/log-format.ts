import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from '../kit/answer.js';
import type { DaytonaAlternatives } from './alternatives.js';

/** With the markers of the streams, both streams as one, or both apart in JSON. */
export type LogFormat = 'marked' | 'merged' | 'json';
export type LogStream = 'stdout' | 'stderr';

const MARKER_BYTES = 3;
const STDOUT = Buffer.from([1, 1, 1]);
const STDERR = Buffer.from([2, 2, 2]);

/** What a client gets is a question of the version that it claims. */
export function logFormatOf(
  headers: IncomingHttpHeaders,
  { splitOutput }: Pick<DaytonaAlternatives, 'splitOutput'>,
): LogFormat {
  const version = versionOf(headers);
  if (version === undefined) {
    const split = headers['x-daytona-split-output'] === 'true' && splitOutput === 'heeded';
    return split ? 'marked' : 'merged';
  }
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  if (version.includes('dev') || major > 0 || minor >= 167) return 'json';
  return minor >= 27 ? 'marked' : 'merged';
}

/** As a header, or as a sub-protocol. */
function versionOf(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['x-daytona-sdk-version'];
  if (typeof header === 'string') return header;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  return offered.find((protocol) => protocol.startsWith('X-Daytona-SDK-Version~'))?.split('~')[1];
}

export function logAnswer(log: Buffer, format: LogFormat): Answer | { readonly raw: Buffer } {
  if (format === 'json') return { status: 200, json: splitLog(log) };
  return { raw: format === 'marked' ? log : mergedLog(log) };
}

/** Both streams as one. */
export function mergedLog(log: Buffer): Buffer {
  return Buffer.concat([...piecesOf(log)].map(({ data }) => data));
}

/** The text of a log as JSON has it: bytes that are no UTF-8 are lost. */
export function splitLog(log: Buffer): Record<'output' | LogStream, string> {
  const streams: Record<LogStream, Buffer[]> = { stdout: [], stderr: [] };
  for (const { stream, data } of piecesOf(log)) streams[stream].push(data);
  return {
    output: log.toString(),
    stdout: Buffer.concat(streams.stdout).toString(),
    stderr: Buffer.concat(streams.stderr).toString(),
  };
}

/** A log without its markers. What is before the first is stdout. */
function* piecesOf(log: Buffer): Generator<{ readonly stream: LogStream; readonly data: Buffer }> {
  let stream: LogStream = 'stdout';
  for (let at = 0; at < log.length;) {
    const next = nextMarker(log, at);
    if (next.at > at) yield { stream, data: log.subarray(at, next.at) };
    stream = next.stream;
    at = next.at + MARKER_BYTES;
  }
}

function nextMarker(log: Buffer, from: number): { readonly at: number; readonly stream: LogStream } {
  const [out, err] = [log.indexOf(STDOUT, from), log.indexOf(STDERR, from)];
  if (out === -1 && err === -1) return { at: log.length, stream: 'stdout' };
  return err === -1 || (out !== -1 && out < err) ? { at: out, stream: 'stdout' } : { at: err, stream: 'stderr' };
}

/** Marks the input of a command as its stdout. */
export function echoed(data: Buffer): Buffer {
  return Buffer.concat([STDOUT, data]);
}
