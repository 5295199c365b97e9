const HOME = /^(?:~|\/home\/sprite)(?=\/|$)/;

/** Whether `path` begins at the sandbox's home, under either of its names. */
export function isUnderHome(path: string): boolean {
  return HOME.test(path);
}

/** `path` with the name of the home, at its very beginning, replaced by where that is on the machine. */
export function underHome(path: string, home: string): string {
  return path.replace(HOME, () => home);
}
