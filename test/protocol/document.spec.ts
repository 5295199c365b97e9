import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  CLOSE,
  DIAL,
  DIAL_PATH,
  ERROR_WORDS,
  EVENTS,
  PROTOCOL_LIMITS,
  REFUSAL,
  REQUESTS,
  SESSION,
} from '#libs/protocol';

const document = readFileSync(new URL('../../docs/PROTOCOL.md', import.meta.url), 'utf8');

interface Row {
  /** The chapter (`## …`) and section (`### …`) it stands in, without backquotes. */
  readonly chapter: string;
  readonly section: string;
  /** The first cell of the table's head: what its rows name. */
  readonly head: string;
  readonly cells: readonly string[];
}

function rowsOf(markdown: string): Row[] {
  const rows: Row[] = [];
  let chapter = '';
  let section = '';
  let head: string | undefined;
  for (const line of markdown.split('\n')) {
    const heading = /^(##|###) (.+)$/.exec(line);
    if (heading?.[1] === '##') [chapter, section] = [heading[2] as string, ''];
    else if (heading) section = (heading[2] as string).replaceAll('`', '');
    if (!line.startsWith('|')) {
      head = undefined;
      continue;
    }
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    if (head === undefined) head = cells[0] as string;
    else if (!/^-+$/.test(cells[0] as string)) rows.push({ chapter, section, head, cells });
  }
  return rows;
}

const rows = rowsOf(document);

interface Member {
  readonly type: string;
  readonly optional: boolean;
  readonly additive: boolean;
  readonly wireName?: string;
}

/** A shape as the page should show it: name, type, needed. */
function described(shape: Readonly<Record<string, Member>>): string[][] {
  return Object.entries(shape).map(([key, { wireName, type, optional, additive }]) => [
    `\`${wireName ?? key}\``,
    type,
    additive ? 'added' : optional ? 'no' : 'yes',
  ]);
}

function shown(chapter: string, section: string, head: string): string[][] {
  return rows
    .filter((row) => row.chapter === chapter && row.section === section && row.head === head)
    .map(({ cells }) => cells.slice(0, 3));
}

function sections(chapter: string): string[] {
  const text = document.split(/^## /m).find((part) => part.startsWith(`${chapter}\n`)) ?? '';
  return [...text.matchAll(/^### `(.+)`$/gm)].map((match) => match[1] as string);
}

describe('docs/PROTOCOL.md says what the table says', () => {
  test('of the ops and events', () => {
    expect(sections('Requests')).toEqual(Object.keys(REQUESTS));
    expect(sections('Events')).toEqual(Object.keys(EVENTS));
  });

  test.each(Object.entries(REQUESTS))('of the members of %s', (op, { body, result }) => {
    expect(shown('Requests', op, 'request')).toEqual(described(body));
    expect(shown('Requests', op, 'result')).toEqual(described(result));
  });

  test.each(Object.entries(EVENTS))('of the members of the event %s', (event, shape) => {
    expect(shown('Events', event, 'event')).toEqual(described(shape));
  });

  test('of a listed session, a refusal and the dial', () => {
    expect(shown('Requests', 'list_sessions', 'session')).toEqual(described(SESSION));
    expect(shown('Refusals', '', 'refusal')).toEqual(described(REFUSAL));
    expect(shown('Dialling', '', 'query')).toEqual(described(DIAL));
    expect(document).toContain(`\`<base>${DIAL_PATH}\``);
  });

  test('of the words for errors', () => {
    expect(shown('Refusals', '', 'word').map(([word]) => word)).toEqual(ERROR_WORDS.map((word) => `\`${word}\``));
  });

  test('of the close codes', () => {
    expect(shown('Closing', '', 'code').map(([code]) => Number(code))).toEqual(
      Object.values(CLOSE).toSorted((a, b) => a - b),
    );
  });

  test('of the limits that it names', () => {
    const limits = new Map<string, number>(Object.entries(PROTOCOL_LIMITS));
    const named = shown('Limits', '', 'limit').map(([name, value]) => [name?.replaceAll('`', ''), value]);
    expect(named.length).toBeGreaterThan(10);
    expect(named).toEqual(named.map(([name]) => [name, readable(name ?? '', limits.get(name ?? ''))]));
  });
});

function readable(name: string, value: number | undefined): string {
  if (value === undefined) return 'no such limit';
  if (name.endsWith('Ms')) return `${value / 1000} s`;
  if (!name.endsWith('Bytes')) return String(value);
  return value % 2 ** 20 === 0 ? `${value / 2 ** 20} MiB` : `${value / 2 ** 10} KiB`;
}

test('every table of the page is one that is checked here', () => {
  const heads = new Set('request result event session refusal query word code limit status'.split(' '));
  expect(rows.filter(({ head }) => !heads.has(head))).toEqual([]);
});
