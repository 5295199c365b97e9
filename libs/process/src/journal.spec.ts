import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamOffsets } from '#libs/contract/core';
import { JournalReader, type JournalRecord } from './journal-reader.js';
import { HEADER_BYTES, readHeader, writeHeader, type Stream } from './journal-record.js';
import { JournalWriter } from './journal-writer.js';
import type { JournalView, SessionEnd } from './keeper.js';

let base: string;
let writer: JournalWriter;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'journal-'));
  writer = new JournalWriter(join(base, 'box', 's-1'), 100);
});

afterEach(() => {
  writer.close();
  rmSync(base, { recursive: true });
});

function append(stream: Stream, text: string): void {
  const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), Buffer.from(text)]);
  writer.append(stream, block, new DataView(block.buffer, block.byteOffset));
}

function view(): JournalView {
  const { directory, position, offsets, oldest } = writer;
  return { sandbox: 'box', id: 's-1', directory, position, offsets, oldest };
}

function shown(record: JournalRecord): unknown[] {
  return record.type === 'end' ? [record.end] : [record.type, record.offset, String(Buffer.from(record.data))];
}

async function readAll(from: StreamOffsets | 'oldest', maxBytes = 1 << 20): Promise<unknown[]> {
  const reader = await JournalReader.open(view(), from);
  const all: unknown[] = [];
  for (;;) {
    const records = await reader.read(writer.position, maxBytes);
    if (records.length === 0) break;
    all.push(...records.map(shown));
  }
  expect([reader.position, reader.offsets]).toEqual([writer.position, writer.offsets]);
  await reader.close();
  return all;
}

const end: SessionEnd = { exit: { exitCode: 143, signal: 'SIGTERM' }, stoppedBy: 'timeout', gone: true };

describe('a record', () => {
  test.each([0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, Number.MAX_SAFE_INTEGER])(
    'keeps offset %d',
    (offset) => {
      const header = new DataView(new ArrayBuffer(HEADER_BYTES));
      writeHeader(header, 0, { type: 'stderr', length: 65_536, offset });
      expect(readHeader(header, 0)).toEqual({ type: 'stderr', length: 65_536, offset });
    },
  );

  test('is laid out as documented', () => {
    const bytes = Buffer.alloc(HEADER_BYTES);
    writeHeader(new DataView(bytes.buffer, bytes.byteOffset), 0, { type: 'stdout', length: 5, offset: 2 ** 32 + 3 });
    expect(bytes.toString('hex')).toBe('01010000000000050000000100000003');
  });
});

describe('a journal', () => {
  test('gives what was appended, over several files', async () => {
    for (let i = 0; i < 20; i += 1) append(i % 3 === 0 ? 'stderr' : 'stdout', `<${i}>`);
    writer.appendEnd(end);
    const all = await readAll('oldest');
    expect(all.slice(0, 3)).toEqual([
      ['stderr', 0, '<0>'],
      ['stdout', 0, '<1>'],
      ['stdout', 3, '<2>'],
    ]);
    expect(all).toHaveLength(21);
    expect(all.at(-1)).toEqual([end]);
    expect(readdirSync(writer.directory).length).toBeGreaterThan(3);
    expect(await readAll('oldest', 1)).toEqual(all);
  });

  test('is trimmed to any pair of offsets', async () => {
    for (let i = 0; i < 12; i += 1) append(i % 2 === 0 ? 'stdout' : 'stderr', `${i}--`.slice(0, 3));
    const text = (records: unknown[], stream: Stream) =>
      (records as [string, number, string][])
        .filter(([type]) => type === stream)
        .map(([, , data]) => data)
        .join('');
    const whole = await readAll('oldest');
    const { stdout: outs, stderr: errs } = writer.offsets;
    for (let stdout = 0; stdout <= outs; stdout += 1) {
      for (let stderr = 0; stderr <= errs; stderr += 1) {
        const rest = await readAll({ stdout, stderr });
        expect([text(rest, 'stdout'), text(rest, 'stderr')]).toEqual([
          text(whole, 'stdout').slice(stdout),
          text(whole, 'stderr').slice(stderr),
        ]);
      }
    }
  });

  test('is read while it grows, up to what was announced', async () => {
    const reader = await JournalReader.open(view(), 'oldest');
    expect(await reader.read(0, 100)).toEqual([]);
    append('stdout', 'one');
    const announced = writer.position;
    append('stdout', 'two');
    expect((await reader.read(announced, 100)).map(shown)).toEqual([['stdout', 0, 'one']]);
    expect(await reader.read(announced, 100)).toEqual([]);
    expect((await reader.read(writer.position, 100)).map(shown)).toEqual([['stdout', 3, 'two']]);
    await reader.close();
    await reader.close();
  });

  test('refuses offsets beyond its end', async () => {
    append('stdout', 'abc');
    for (const from of [
      { stdout: 4, stderr: 0 },
      { stdout: 0, stderr: 1 },
    ]) {
      await expect(JournalReader.open(view(), from)).rejects.toMatchObject({
        code: 'invalid',
        detail: 'offset_beyond_end',
      });
    }
  });

  test('says so when the beginning was evicted, before and while it is read', async () => {
    for (let i = 0; i < 20; i += 1) append('stdout', `data-${i}`.padEnd(20));
    const late = await JournalReader.open(view(), { stdout: 0, stderr: 0 });
    expect(writer.evictOldest({ stdout: 59, stderr: 0 })).toBe(false);
    expect(writer.evictOldest('hold')).toBe(false);
    expect(writer.evictOldest({ stdout: 60, stderr: 0 })).toBe(true);
    expect(writer.oldest).toEqual({ stdout: 60, stderr: 0 });
    const evicted = { code: 'truncated', detail: 'replay_evicted', cause: { oldest: { stdout: 60, stderr: 0 } } };
    await expect(late.read(writer.position, 100)).rejects.toMatchObject(evicted);
    await late.close();
    await expect(JournalReader.open(view(), { stdout: 59, stderr: 0 })).rejects.toMatchObject(evicted);
    expect((await readAll('oldest'))[0]).toEqual(['stdout', 60, 'data-3'.padEnd(20)]);
    while (writer.evictOldest('detached'));
    expect(readdirSync(writer.directory)).toHaveLength(1);
  });

  test.each([
    ['gone', () => rmSync(writer.directory, { recursive: true })],
    ['empty', () => readdirSync(writer.directory).forEach((name) => rmSync(join(writer.directory, name)))],
  ])('whose directory is %s is that of a session that is gone, and not evicted', async (_, remove) => {
    for (let i = 0; i < 20; i += 1) append('stdout', `data-${i}`.padEnd(20));
    const reader = await JournalReader.open(view(), { stdout: 0, stderr: 0 });
    remove();
    const gone = { code: 'not_found', effect: 'none' };
    await expect(reader.read(writer.position, 100)).rejects.toMatchObject(gone);
    await expect(JournalReader.open(view(), { stdout: 60, stderr: 0 })).rejects.toMatchObject(gone);
    await reader.close();
  });

  test.each([
    ['empty', Buffer.alloc(0)],
    ['cut in a header', Buffer.alloc(7)],
    ['zeroes', Buffer.alloc(64)],
    ['an endless record', Buffer.from('0101000000ffffff0000000000000000', 'hex')],
  ])('that is %s fails by name', async (_, bytes) => {
    append('stdout', 'x'.repeat(40));
    writeFileSync(join(writer.directory, '0-0-0.journal'), bytes);
    const reader = await JournalReader.open(view(), 'oldest');
    await expect(reader.read(writer.position, 100)).rejects.toMatchObject({
      code: 'unavailable',
      detail: 'journal_failed',
    });
    await reader.close();
  });
});
