/** Whether a version is at least another; both are dotted numbers. */
export function atLeast(version: string, least: string): boolean {
  const [have, need] = [version, least].map((text) => text.split('.').map(Number));
  for (const [at, part] of need!.entries()) {
    const difference = (have![at] ?? 0) - part;
    if (difference !== 0) return difference > 0;
  }
  return true;
}
