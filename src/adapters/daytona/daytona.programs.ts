import { newNonce } from '../common/session-id.js';
import { assignments, quote } from '../common/shell-quote.js';
import { COMMON, EMIT_TEXT } from '../common/shim-common.js';
import { READ } from '../common/shim-read.js';
import { readTextProgram, shimProgram, type ShimCommand, type TextReadFrom } from '../common/shim.js';
import { terminateProgram, type Termination } from '../common/shim-terminate.js';

// The programs that run in a sandbox over `POST /process/execute`: each ends soon, and says its words in lines of text.

/** How a command is started. */
export interface StartSpec {
  readonly command: ShimCommand;
  /** On the command line of the shim. */
  readonly tag: string;
  /** What lists show of it. */
  readonly title: string;
  /** Who may write to its stdin at first. */
  readonly owner: string;
  /** Reads on for so many seconds, until there is output or the exit; `undefined`: not at all. */
  readonly holdSeconds?: number;
  /** Sessions whose journals nobody needs any more. */
  readonly rubbish: readonly string[];
}

/** What one call to a reader may give, in pieces of up to 1 MiB. */
export const PIECES = 4;

/**
 * Feeds the command's stdin, which is the FIFO `i`, with what is told on `c`, one line each: `p <token> <format>` bytes
 * for printf, `f <token>` the file of that name, which is removed, and `e` the end. `took` names what the command took
 * last; bytes that nobody can take leave `broken`. Ends with the shim, and has its say before: what a command took that
 * ended by it was taken. `fed` is there from then on: its pid may be that of another. Where the journal is gone, nobody
 * can be told any more.
 */
const FEED = `
sb_feed() {
  trap '' PIPE TERM INT HUP QUIT
  exec 3>"$sb_in_d/i"
  while read -r sb_y sb_t sb_v <&4; do
    case $sb_y in
    e) break ;;
    p) printf "$sb_v" >&3 || : >"$sb_in_d/broken" ;;
    f)
      cat "$sb_in_d/in.$sb_t" >&3 || : >"$sb_in_d/broken"
      rm -f "$sb_in_d/in.$sb_t" ;;
    esac
    echo "$sb_t" >"$sb_in_d/took"
    [ ! -e "$sb_in_d/broken" ] || break
  done
  : >"$sb_in_d/fed"
}
sb_unfeed() {
  [ ! -p "$sb_in_d/c" ] || echo e 1<>"$sb_in_d/c"
  sb_i=0
  until [ -e "$sb_in_d/fed" ] || [ ! -p "$sb_in_d/c" ] || [ "$sb_i" -ge 100 ]; do
    sb_sleep 0.02; sb_i=$((sb_i + 1))
  done
  [ -e "$sb_in_d/fed" ] || ! sb_alive "$sb_feeder" || kill -KILL "$sb_feeder"
}
exec 4<>"$sb_in_d/c"
( sb_feed ) </dev/null >/dev/null 2>&1 & sb_feeder=$!
exec 4>&-
trap sb_unfeed EXIT
`;

/**
 * Leaves what the list shows. After it the shim is started in a session of its own, and says one line here. Where it is
 * a leader already, `setsid` forks and does not wait, so the second one lets go; a shell's own way, `&`, would have the
 * command deaf to INT.
 */
const START = `
sb_d=$HOME/.nestjs-sandbox/$sb_kind/$sb_id
command -v setsid >/dev/null || { sb_say u; exit 0; }
for sb_y in $sb_rubbish; do rm -rf "$HOME/.nestjs-sandbox/runs/$sb_y"; done
(
  umask 077
  mkdir -p "$sb_d" && : >"$sb_d/quiet" && echo "$sb_title" >"$sb_d/title" && date +%s >"$sb_d/since" &&
    echo "$sb_owner" >"$sb_d/owner" && { [ -z "$sb_in" ] || mkfifo "$sb_d/i" "$sb_d/c"; }
) || { rm -rf "$sb_d"; sb_say j; exit 0; }
`;

/** The directory in which the journals of a kind of sessions lie. */
export function kindOf(detachable: boolean): 'sessions' | 'runs' {
  return detachable ? 'sessions' : 'runs';
}

/** A program that starts a command under the shim, and says what the shim says, then what {@link pollProgram} does. */
export function startProgram({ command, tag, title, owner, holdSeconds, rubbish }: StartSpec): string {
  const end = `shim_${newNonce()}`;
  const { nonce, detachable, stdin } = command;
  const kind = kindOf(detachable);
  const variables = assignments({
    sb_id: nonce,
    sb_kind: kind,
    sb_title: inHex(title),
    sb_owner: owner,
    sb_in: stdin ? 1 : '',
    sb_rubbish: rubbish.join(' '),
    sb_from_o: 0,
    sb_from_e: 0,
    sb_credits: PIECES,
    sb_take: '',
    sb_hold: holdSeconds ?? 0,
  });
  const feed = stdin ? `sb_in_d=$HOME/.nestjs-sandbox/${kind}/${nonce}\n${FEED}` : '';
  const shim = `${feed}${shimProgram(command)}`;
  return `${variables}${COMMON}${EMIT_TEXT}${START}
setsid setsid sh -c 'eval "$(cat)"' ${quote(tag)} <<${quote(end)} | head -n 1 >"$sb_d/said"
${shim}
${end}
sb_word=; read -r sb_word <"$sb_d/said"
echo "\${sb_word:-@l}"
case $sb_word in @r*) ;; *) rm -rf "$sb_d"; exit 0 ;; esac
${holdSeconds === undefined ? '' : READ}`;
}

/** What the shell of a terminal is told. */
export function terminalStart(nonce: string): string {
  return ` exec sh "$HOME/.nestjs-sandbox/start/${nonce}"\n`;
}

/** What stands on the line behind which a terminal is the command's. What the shell echoes does not hold it. */
export function terminalMark(nonce: string): string {
  return `@begin:${nonce}`;
}

/** A program that leaves what {@link terminalStart} runs, in a file that removes itself, and says `k`. */
export function stageTerminalProgram(spec: {
  readonly nonce: string;
  /** From `shimTerminalProgram`. */
  readonly shim: string;
  readonly title: string;
  readonly detachable: boolean;
}): string {
  const { nonce, shim, title, detachable } = spec;
  const end = `terminal_${newNonce()}`;
  const variables = assignments({
    sb_id: nonce,
    sb_kind: kindOf(detachable),
    sb_title: inHex(title),
  });
  return `${variables}${COMMON}
umask 077
sb_root=$HOME/.nestjs-sandbox
sb_d=$sb_root/$sb_kind/$sb_id
mkdir -p "$sb_d" "$sb_root/start" && echo "$sb_title" >"$sb_d/title" && date +%s >"$sb_d/since" &&
cat >"$sb_root/start/$sb_id" <<${quote(end)} && sb_say k
rm -f "$0"
sb_tty=$(stty -g)
printf '\\n${terminalMark('')}%s\\n' ${nonce}
${shim}
${end}
`;
}

/** Only where the session has that id. */
const GUARD = `
if sb_find; then
  sb_y=; read -r sb_y <"$sb_d/pid"
  [ "$sb_y" = "$sb_want" ] || { sb_say n; exit 0; }
else sb_say n; exit 0; fi
`;

function guarded(nonce: string, pid: string): string {
  return `${assignments({ sb_id: nonce, sb_want: pid })}${COMMON}${GUARD}`;
}

/** A program that prints of a journal what there is, or what comes within the hold. */
export function pollProgram(nonce: string, pid: string, from: TextReadFrom): string {
  return `${guarded(nonce, pid)}${readTextProgram(nonce, from)}`;
}

/** A program that stops a session; see `terminateProgram`. */
export function stopProgram(termination: Termination): string {
  return `${guarded(termination.nonce, termination.pid)}${terminateProgram(termination)}`;
}

/** A program that says `s <pid> <nonce> <tty> <since> <title>` of each detachable session that runs. */
export function listProgram(): string {
  return `${COMMON}
cd "$HOME/.nestjs-sandbox/sessions" || exit 0
for sb_id in *; do
  sb_d=$sb_id sb_p= sb_since=0 sb_title=
  [ ! -e "$sb_d/exit" ] && read -r sb_p <"$sb_d/pid" && sb_alive "$sb_p" || continue
  read -r sb_since <"$sb_d/since"
  read -r sb_title <"$sb_d/title"
  sb_tty=0; [ ! -e "$sb_d/tty" ] || sb_tty=1
  sb_say s "$sb_p" "$sb_id" "$sb_tty" "$sb_since" "$sb_title"
done
`;
}

/** A program that removes what is below the directory of ours. */
export function cleanProgram(paths: readonly string[]): string {
  return paths.map((path) => `rm -rf "$HOME/.nestjs-sandbox/${path}"\n`).join('');
}

/** In hexadecimal, as one word of any bytes. */
export function inHex(text: string): string {
  return Buffer.from(text).toString('hex');
}
