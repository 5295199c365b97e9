/** The files of one command of a session. */
export interface CommandFiles {
  readonly directory: string;
  /** What it wrote, line by line, each after the marker of its stream. */
  readonly log: string;
  readonly command: string;
  readonly exitCode: string;
  /** A pipe while the command runs. */
  readonly stdin: string;
  /** Pid of the process that keeps `stdin` open. */
  readonly holder: string;
}

export function commandFiles(directory: string): CommandFiles {
  return {
    directory,
    log: `${directory}/output.log`,
    command: `${directory}/command.sh`,
    exitCode: `${directory}/exit_code`,
    stdin: `${directory}/stdin.pipe`,
    holder: `${directory}/holder.pid`,
  };
}

/**
 * What the shell of a session is told for one command: its text is sourced, so that it changes this shell, and may end
 * it. Two readers put the marker of a stream before each of its lines; the exit code is written once both are done.
 */
export function sessionScript(files: CommandFiles, runAsync: boolean): string {
  const at = (path: string) => `'${path.replaceAll("'", `'\\''`)}'`;
  const [out, err] = [at(`${files.directory}/stdout.pipe`), at(`${files.directory}/stderr.pipe`)];
  const stdin = at(files.stdin);
  const reader = (pipe: string, marker: string) => {
    const loop = `while IFS= read -r _l || [ -n "$_l" ]; do printf '${marker.repeat(3)}%s\\n' "$_l"; done`;
    return `( ${loop} <${pipe} >>${at(files.log)} ) 2>/dev/null &`;
  };
  // Without it the command would find the end of its stdin at once.
  const holder = runAsync ? `sleep 2147483647 >${stdin} </dev/null 2>/dev/null &` : `: >${stdin} &`;
  return `{
mkfifo ${stdin} ${out} ${err}
${reader(out, '\\001')} _daytona_out=$!
${reader(err, '\\002')} _daytona_err=$!
${holder} _daytona_in=$!
echo "$_daytona_in" >${at(files.holder)}
{ . ${at(files.command)}; } <${stdin} >${out} 2>${err}
_daytona_code=$?
wait "$_daytona_out" "$_daytona_err"
kill "$_daytona_in" 2>/dev/null
rm -f ${stdin} ${out} ${err}
echo "$_daytona_code" >${at(`${files.exitCode}.tmp`)}
mv ${at(`${files.exitCode}.tmp`)} ${at(files.exitCode)}
}
`;
}
