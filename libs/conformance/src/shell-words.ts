import { PATTERN_LINE, type Vocabulary, type Words } from './vocabulary.js';

/**
 * The vocabulary of every machine with a POSIX shell: `sh`, `cat`, `head`, `ls`, `printf`, `sleep`, `printenv`, `stty`, `tr`, `wc`,
 * `yes` as POSIX, GNU or busybox have them.
 */
export const shellWords: Vocabulary = Object.freeze({
  print: ({ stdout = '', stderr = '', exitCode = 0 }) =>
    sh('printf "$1"; printf "$2" >&2; exit "$3"', format(stdout), format(stderr), String(exitCode)),
  echoArguments: (...args) => sh('for each do printf "%s\\000" "$each"; done', ...args),
  echoVariables: (...names) =>
    sh(
      'for each do if eval "[ -n \\"\\${$each+x}\\" ]"; then eval "printf \'%s=%s\\\\000\' $each \\"\\$$each\\""; fi; done',
      ...names,
    ),
  echoDirectory: () => sh('pwd -P'),
  copyStdin: (to) => (to === 'stdout' ? { cmd: 'cat', args: [] } : sh('exec cat >&2')),
  countStdin: () => sh('echo $(wc -c)'),
  puppet: () => sh(PUPPET),
  lines: (bytes) => sh('yes "$1" | head -c "$2"', PATTERN_LINE.trimEnd(), String(bytes)),
  longLine: (bytes) => sh('head -c "$1" /dev/zero | tr "\\000" x', String(bytes)),
  count: (last, both = false) => sh(both ? COUNT_ON_BOTH : COUNT, String(last)),
  flood: () => ({ cmd: 'yes', args: [PATTERN_LINE.trimEnd()] }),
  stay: () => sh('echo ready; exec sleep 86400'),
  closeInput: () => sh('exec </dev/null; echo ready; exec sleep 86400'),
  stayThroughTerm: () => sh('trap "" TERM; echo ready; while :; do sleep 1; done'),
  dieOf: (signal) => sh('kill -s "$1" $$; sleep 60', signal.slice('SIG'.length)),
  missing: () => ({ cmd: 'no-such-program-anywhere', args: [] }),
  runFile: (path) => ({ cmd: `./${path}`, args: [] }),
  showFile: (path) => ({ cmd: 'cat', args: ['--', path] }),
  showMode: (path) => sh(MODE, path),
  exists: (path) => ({ cmd: 'test', args: ['-e', path] }),
  link: (target, path) => ({ cmd: 'ln', args: ['-s', '--', target, path] }),
  touch: (path) => sh(': > "$1"', path),
  makeDirectory: (path) => ({ cmd: 'mkdir', args: ['--', path] }),
  pause: (ms) => ({ cmd: 'sleep', args: [String(ms / 1000)] }),
  family: ({ trigger, mark, deaf = false }) =>
    sh(`${deaf ? 'trap "" TERM; ' : ''}${ERRAND} & echo ready; wait; exec sleep 86400`, trigger, mark),
  background: ({ trigger, mark }) => sh(`echo ready; ${CHATTY_ERRAND} &`, trigger, mark),
  showVariable: (name) => ({ cmd: 'printenv', args: [name] }),
  tidyUp: ({ begun, mark }) =>
    sh('trap \': > "$2"; exit 0\' TERM; : > "$1"; echo ready; while :; do sleep 0.05; done', begun, mark),
  showTerminalSize: () => sh('stty -echo; stty size; while IFS= read -r line; do stty size; done'),
} satisfies Vocabulary);

const PUPPET = `while IFS= read -r line; do
  case $line in
    out:*) printf %b "\${line#out:}" ;;
    err:*) printf %b "\${line#err:}" >&2 ;;
    exit:*) exit "\${line#exit:}" ;;
  esac
done`;

const COUNT = 'n=1; while [ $n -le "$1" ]; do echo $n; n=$((n + 1)); done';
const COUNT_ON_BOTH =
  'n=1; while [ $n -le "$1" ]; do if [ $((n % 2)) = 0 ]; then echo $n >&2; else echo $n; fi; n=$((n + 1)); done';

const ERRAND = '(until [ -e "$1" ]; do sleep 0.05; done; : > "$2")';
const CHATTY_ERRAND = '(trap "" PIPE; until [ -e "$1" ]; do echo chat; sleep 0.05; done; : > "$2")';

/** Octal permissions from `ls`, since `stat` has another form on every system. */
const MODE = `set -- $(ls -ld -- "$1"); bits=\${1#?}; octal=
for place in 1 2 3; do
  rest=\${bits#???}; three=\${bits%"$rest"}; digit=0
  case $three in r??) digit=4 ;; esac
  case $three in ?w?) digit=$((digit + 2)) ;; esac
  case $three in ??[xst]) digit=$((digit + 1)) ;; esac
  octal=$octal$digit; bits=$rest
done
echo $octal`;

function sh(script: string, ...args: string[]): Words {
  return { cmd: 'sh', args: ['-c', script, 'sh', ...args] };
}

/** A `printf` format that writes exactly these bytes. */
function format(data: Uint8Array | string): string {
  return Array.from(Buffer.from(data), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
