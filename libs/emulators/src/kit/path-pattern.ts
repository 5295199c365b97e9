import type { Call, CallMatch } from './call.js';

/** `/v1/things/:name/parts/*`: `:name` stands for one segment, a last `*` for what follows, slashes included. */
export class PathPattern {
  readonly #segments: readonly string[];
  readonly #open: boolean;

  constructor(pattern: string) {
    const segments = pattern.split('/');
    this.#open = segments.at(-1) === '*';
    this.#segments = this.#open ? segments.slice(0, -1) : segments;
  }

  /** The decoded parameters, `*` among them; `undefined` when the path is another. */
  match(path: string): Record<string, string> | undefined {
    const segments = path.split('/');
    if (this.#open ? segments.length <= this.#segments.length : segments.length !== this.#segments.length) {
      return undefined;
    }
    const parameters: Record<string, string> = {};
    for (const [at, expected] of this.#segments.entries()) {
      const segment = decoded(segments[at]!);
      if (segment === undefined) return undefined;
      if (expected.startsWith(':')) parameters[expected.slice(1)] = segment;
      else if (expected !== segment) return undefined;
    }
    if (this.#open) parameters['*'] = segments.slice(this.#segments.length).join('/');
    return parameters;
  }
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

export function matches(match: CallMatch, call: Call): boolean {
  const { method, path, upgrade, where } = match;
  if (method !== undefined && method !== call.method) return false;
  if (upgrade !== undefined && upgrade !== call.upgrade) return false;
  if (typeof path === 'string' && !new PathPattern(path).match(call.path)) return false;
  if (path instanceof RegExp && !path.test(call.path)) return false;
  return where?.(call) ?? true;
}
