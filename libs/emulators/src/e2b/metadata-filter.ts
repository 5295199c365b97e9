import { refusal } from './refusals.js';

/**
 * The pairs of a `metadata` filter. The server unescapes what the query decoding has left once more, splits it, and
 * unescapes each key and each value again.
 *
 * @param text after the query decoding
 * @throws {Refusal} 400
 */
export function metadataFilterOf(text: string): [key: string, value: string][] {
  return unescaped(text)
    .split('&')
    .map((pair) => {
      const parts = pair.split('=');
      if (parts.length !== 2) throw refusal(400, `invalid metadata value in query: ${pair}`);
      return [unescaped(parts[0]!), unescaped(parts[1]!)];
    });
}

/** As Go's `url.QueryUnescape` has it: `+` is a blank. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw refusal(400, 'invalid metadata value in query: bad escape');
  }
}
