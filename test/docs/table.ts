/** A table of Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function escaped(cell: string): string {
  return cell.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** 40 000 instead of 40000. */
export function spaced(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ');
}
