import { inspect } from 'node:util';
import { expectThat } from './expect.js';

/** @throws {Mismatch} if `inspect` shows the secret, as text, as bytes or as they are sent */
export function expectHidden(what: string, value: unknown, secret: string): void {
  const shown = inspect(value, { depth: 12, showHidden: true, maxArrayLength: null, maxStringLength: null });
  const bytes = Buffer.from(secret);
  const forms = [secret, inspect(bytes).slice('<Buffer '.length, -1), bytes.toString('base64')];
  const form = forms.find((one) => shown.includes(one));
  expectThat(`inspect of ${what}`, form === undefined, 'nothing of the secret', shown.slice(0, 1000));
}
