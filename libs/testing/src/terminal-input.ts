const INTERRUPT = 3;
const END_OF_TRANSMISSION = 4;

/** What a terminal makes of the bytes that are typed into it: two of them are no input. */
export function* terminalInput(data: Uint8Array): Generator<Uint8Array | 'interrupt' | 'eof'> {
  let begin = 0;
  for (const [at, byte] of data.entries()) {
    if (byte !== INTERRUPT && byte !== END_OF_TRANSMISSION) continue;
    if (at > begin) yield data.subarray(begin, at);
    yield byte === INTERRUPT ? 'interrupt' : 'eof';
    begin = at + 1;
  }
  if (begin < data.byteLength) yield data.subarray(begin);
}
