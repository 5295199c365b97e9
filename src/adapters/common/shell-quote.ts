/** One word of POSIX sh that stands for exactly `text`. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Assignments, one a line. */
export function assignments(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quote(String(value))}\n`)
    .join('');
}
