import { AWK_LINE, LINE_BYTES } from './lines.js';

/** A command whose output and exit are known beforehand. */
export interface Program {
  readonly cmd: string;
  readonly args: string[];
}

/** How a stream of lines is printed. */
export interface Printing {
  readonly steps: number;
  readonly linesPerStep: number;
  /** One line of stderr after so many of stdout. */
  readonly linesPerStderr: number;
  /** After each step. */
  readonly pauseSeconds: number;
  readonly exitCode: number;
}

/** Every program first adds its process id to the file that `$1` names: the proof that it ran, and how often. */
const MARK = `printf '%s\\n' "$$" >>"$1"; `;

const PRINT = `${AWK_LINE}
BEGIN {
  for (step = 0; step < steps; step++) {
    for (i = 0; i < lines; i++) {
      printf "%s", line(1, out++)
      if (out % every == 0) printf "%s", line(2, err++) > "/dev/stderr"
    }
    fflush()
    fflush("/dev/stderr")
    if (pause > 0) system("sleep " pause)
  }
  exit code
}`;

/** Prints lines of both streams. */
export function printing(mark: string, content: { seed: number; story: number }, how: Printing): Program {
  const variables = {
    ...content,
    steps: how.steps,
    lines: how.linesPerStep,
    every: how.linesPerStderr,
    pause: how.pauseSeconds,
    code: how.exitCode,
  };
  const assignments = Object.entries(variables).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  return shell('shift; exec awk "$@"', mark, [...assignments, PRINT]);
}

/** How much {@link printing} prints. */
export function printed({ steps, linesPerStep, linesPerStderr }: Printing): { stdout: number; stderr: number } {
  const lines = steps * linesPerStep;
  return { stdout: lines * LINE_BYTES, stderr: Math.floor(lines / linesPerStderr) * LINE_BYTES };
}

/** Prints what it reads. */
export function echoing(mark: string, exitCode: number): Program {
  return shell(`cat; exit ${exitCode}`, mark);
}

/** What {@link sleeping} has on its command line: longer than any run. */
export const SLEEP = 'sleep 7200';

export function sleeping(mark: string): Program {
  return shell(`exec ${SLEEP}`, mark);
}

function shell(script: string, mark: string, args: readonly string[] = []): Program {
  return { cmd: 'sh', args: ['-c', MARK + script, 'sh', mark, ...args] };
}
