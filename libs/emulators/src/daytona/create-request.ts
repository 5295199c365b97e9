import { apiFailure } from './api-failure.js';
import type { IntervalSettings } from './intervals.js';
import { networkOf, type Network } from './network.js';

/** CPUs, and GiB of memory and disk. */
export interface Size {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
}

/** What a create asks for. */
export interface CreateRequest {
  readonly name?: string;
  /** Id or name. */
  readonly snapshot?: string;
  readonly user: string;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly public: boolean;
  readonly target: string;
  readonly network: Partial<Network>;
  readonly size: Size;
  readonly intervals: IntervalSettings;
  readonly buildInfo?: Readonly<Record<string, unknown>>;
}

type Body = Readonly<Record<string, unknown>>;

const REGIONS: ReadonlySet<string> = new Set(['us', 'eu']);
const LARGEST: Size = { cpu: 4, memory: 8, disk: 10 };
const USUAL: Size = { cpu: 1, memory: 1, disk: 3 };
const WEEK_MINUTES = 10_080;

/** @throws {ApiFailure} 400, 404 */
export function createRequestOf(body: Body): CreateRequest {
  const name = textOf(body, 'name');
  if (name !== undefined && /\p{Cc}/u.test(name)) throw apiFailure(400, 'name must not contain control characters');
  const snapshot = textOf(body, 'snapshot');
  const sized = ['cpu', 'memory', 'disk'].filter((field) => body[field] !== undefined);
  if (snapshot !== undefined && sized.length > 0) {
    throw apiFailure(400, 'Cannot specify Sandbox resources when using a snapshot');
  }
  const { buildInfo } = body;
  if (snapshot !== undefined && buildInfo !== undefined) {
    throw apiFailure(400, 'Cannot specify build info when using a snapshot');
  }
  const target = textOf(body, 'target') || 'us';
  if (!REGIONS.has(target)) throw apiFailure(404, `Region ${target} not found`);
  return {
    ...(name && { name }),
    ...(snapshot && { snapshot }),
    user: textOf(body, 'user') ?? 'daytona',
    env: mapOf(body, 'env'),
    labels: mapOf(body, 'labels'),
    public: body['public'] === true,
    target,
    network: networkOf(body),
    size: sizeOf(body, USUAL),
    intervals: {
      autoStop: minutesOf(body, 'autoStopInterval', 15),
      autoArchive: minutesOf(body, 'autoArchiveInterval', WEEK_MINUTES),
      autoDelete: minutesOf(body, 'autoDeleteInterval', -1, true),
      ttl: minutesOf(body, 'ttlMinutes', 0),
    },
    ...(buildInfo !== undefined && { buildInfo: Object(buildInfo) as Body }),
  };
}

/** @throws {ApiFailure} 400 */
export function sizeOf(body: Body, usual: Size): Size {
  const size = { ...usual };
  for (const field of ['cpu', 'memory', 'disk'] as const) {
    const value = body[field];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
      throw apiFailure(400, `${field} must not be less than 1`);
    if (value > LARGEST[field]) {
      throw apiFailure(400, `${field} of ${value} exceeds the maximum of ${LARGEST[field]} per sandbox`);
    }
    size[field] = value;
  }
  return size;
}

/** @throws {ApiFailure} 400 */
function textOf(body: Body, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw apiFailure(400, `${name} must be a string`);
  return value;
}

/** @throws {ApiFailure} 400 */
export function mapOf(body: Body, name: string): Record<string, string> {
  const value = body[name];
  if (value === undefined || value === null) return {};
  const entries = Object.entries(Object(value) as object);
  if (typeof value === 'object' && !Array.isArray(value) && entries.every(([, text]) => typeof text === 'string')) {
    return Object.fromEntries(entries) as Record<string, string>;
  }
  throw apiFailure(400, `${name} must be an object of strings`);
}

/** @throws {ApiFailure} 400 */
function minutesOf(body: Body, name: string, usual: number, negative = false): number {
  const value = body[name];
  if (value === undefined || value === null) return usual;
  if (!Number.isInteger(value)) throw apiFailure(400, `${name} must be an integer number`);
  if ((value as number) < 0 && !negative) throw apiFailure(400, `${name} must be a non-negative integer`);
  return value as number;
}
