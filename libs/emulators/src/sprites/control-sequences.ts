const [ESCAPE, BELL] = ['\\u001B', '\\u0007'];
const SEQUENCE = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)|[@-_])`,
  'g',
);

/** Output of a terminal without colours, movements and links. */
export function withoutControlSequences(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replaceAll(SEQUENCE, ''), 'latin1');
}
