/** What `npm start` was asked to do. */
export type StartOptions =
  | { readonly mode: 'serve' }
  | { readonly mode: 'run'; readonly command: string }
  | { readonly mode: 'help' }
  | { readonly mode: 'refused'; readonly problem: string };

export const USAGE = `Usage: npm start [-- options]

Starts a platform on 127.0.0.1 (HOST and PORT change that) and a runner daemon that dials into it.

  (no options)       create a sandbox, run "uname -a" in it, stay until Ctrl-C
  --run <command>    run "bash -c <command>" in a fresh sandbox, stdin, stdout and stderr passed
                     through, and exit with its code: 128+n for a signal, 141 when stdout is
                     closed, 125 when it could not be run or its end could not be known
  --help             this text
`;

export function parseStartOptions(argv: readonly string[]): StartOptions {
  const [first, ...rest] = argv;
  if (first === undefined) return { mode: 'serve' };
  if (first === '--help' || first === '-h') return { mode: 'help' };
  const inline = first.startsWith('--run=') ? first.slice('--run='.length) : undefined;
  if (inline === undefined && first !== '--run') return { mode: 'refused', problem: `unknown option ${first}` };
  const [command, surplus] = inline === undefined ? rest : [inline, ...rest];
  if (command === undefined) return { mode: 'refused', problem: '--run needs a command' };
  if (surplus !== undefined) return { mode: 'refused', problem: 'unexpected argument after the command' };
  return { mode: 'run', command };
}
