/** An object out of JSON, seen without its types. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** `undefined`: not an object. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** `undefined`: not JSON, as an answer of a proxy is not. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The objects of newline-delimited JSON, one a line. `undefined`: a line is something else. */
export function parseJsonLines(text: string): JsonObject[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const objects = lines.map((line) => asObject(parseJson(line)));
  return objects.every((object) => object !== undefined) ? objects : undefined;
}
