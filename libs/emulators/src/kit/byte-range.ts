/**
 * What a `Range` header asks of a file: begin and end, the latter exclusive; the begin may lie beyond the file. Forms
 * that are not understood, several ranges among them, are ignored, as HTTP allows.
 */
export function byteRange(header: string | undefined, size: number): [from: number, to: number] | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return [Math.max(0, size - Number(last)), size];
  return [Number(first), last === '' ? size : Math.min(size, Number(last) + 1)];
}
