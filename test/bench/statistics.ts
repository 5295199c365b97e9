/** The value that `part` of the values do not exceed (nearest rank). */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function extremes(values: readonly number[]): readonly [least: number, greatest: number] {
  return [Math.min(...values), Math.max(...values)];
}
