import type { Exchange } from '../kit/exchange.js';
import { refusal } from './refusals.js';
import type { E2bSettings } from './options.js';

export type Body = Readonly<Record<string, unknown>>;

/**
 * The body of a control call. Without one it is empty.
 *
 * @param known names of its fields, which matter where unknown ones are refused
 * @throws {Refusal} 400
 */
export async function bodyOf(exchange: Exchange, settings: E2bSettings, known: readonly string[]): Promise<Body> {
  const bytes = await exchange.body();
  if (bytes.length === 0) return {};
  if (!/\bjson\b/.test(exchange.headers['content-type'] ?? '')) {
    throw refusal(400, 'validation error: header Content-Type has unexpected value');
  }
  const body = parsed(bytes);
  if (settings.alternatives.unknownFields === 'refused') {
    const unknown = Object.keys(body).find((name) => !known.includes(name));
    if (unknown !== undefined) throw refusal(400, `validation error: property "${unknown}" is unsupported`);
  }
  return body;
}

function parsed(bytes: Buffer): Body {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  } catch {
    // The same as another type.
  }
  throw refusal(400, 'validation error: request body is not a JSON object');
}

/** @throws {Refusal} 400 when it is there and no whole number */
export function wholeNumber(body: Body, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (Number.isSafeInteger(value)) return value as number;
  throw refusal(400, `validation error: value of "${name}" must be an integer`);
}

/** @throws {Refusal} 400 when it is there and neither true nor false */
export function flag(body: Body, name: string): boolean | undefined {
  const value = body[name];
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? undefined;
  throw refusal(400, `validation error: value of "${name}" must be a boolean`);
}

/** @throws {Refusal} 400 when it is there and no map of strings */
export function stringMap(body: Body, name: string): Record<string, string> | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  const entries = Object.entries(Object(value) as object);
  if (typeof value === 'object' && !Array.isArray(value) && entries.every(([, text]) => typeof text === 'string')) {
    return Object.fromEntries(entries) as Record<string, string>;
  }
  throw refusal(400, `validation error: value of "${name}" must be a map of strings`);
}
