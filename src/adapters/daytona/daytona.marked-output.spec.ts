import { expect, test } from '@jest/globals';
import type { SandboxError } from '#libs/contract';
import { MarkedOutput } from './daytona.marked-output.js';

const NONCE = '0'.repeat(32);

function marked(text: string, size: number): { readonly output: string; readonly errors: readonly SandboxError[] } {
  const [pieces, errors]: [Uint8Array[], SandboxError[]] = [[], []];
  const output = new MarkedOutput(NONCE, {
    output: (data) => void pieces.push(data),
    closed: (error) => void errors.push(error),
  });
  for (let at = 0; at < text.length; at += size) output.output(Buffer.from(text.slice(at, at + size), 'latin1'));
  return { output: Buffer.concat(pieces).toString('latin1'), errors };
}

test.each([1, 3, 7, 1000])('output begins behind the line with the mark, however it is cut (%p bytes)', (size) => {
  const shell = `$ exec sh "$HOME/.nestjs-sandbox/start/${NONCE}"\r\n@begin:1\r\n\r\n@begin:${NONCE}`;
  expect(marked(`${shell}\r\nhello\n@begin:${NONCE}\n`, size)).toEqual({
    output: `hello\n@begin:${NONCE}\n`,
    errors: [],
  });
});

test('what a shell shows without a mark is not kept, and a line with one does not go on for ever', () => {
  expect(marked('x'.repeat(100_000), 1000)).toEqual({ output: '', errors: [] });
  const { output, errors } = marked(`@begin:${NONCE}${'x'.repeat(1000)}`, 100);
  expect([output, errors.map(({ detail }) => detail)]).toEqual(['', ['malformed_frame']]);
});
