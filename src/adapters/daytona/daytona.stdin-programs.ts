import { assignments } from '../common/shell-quote.js';
import { COMMON } from '../common/shim-common.js';

// The programs that write to the stdin of a session. Each says one word: `k` done, `w` not taken yet, `x` it had ended,
// `q` it ended meanwhile, `l` it is gone without an exit, `n` there is none, `b` it has closed its stdin, `o` another owns
// stdin, `e` it was closed, `c` it was not open. How the bytes get there is told at `FEED`.

export interface StdinTarget {
  readonly nonce: string;
  /** Who writes. */
  readonly owner: string;
}

const FIND = `
sb_find || { sb_say n; exit 0; }
sb_p=; read -r sb_p <"$sb_d/pid"
`;

/** Ends where nothing can be written. */
const OPEN = `${FIND}
[ ! -e "$sb_d/exit" ] || { sb_say x; exit 0; }
[ -p "$sb_d/i" ] || { sb_say c; exit 0; }
`;

const OWNED = `
sb_y=; read -r sb_y <"$sb_d/owner"
[ "$sb_y" = "$sb_owner" ] || { sb_say o; exit 0; }
[ ! -e "$sb_d/eof" ] || { sb_say e; exit 0; }
`;

/**
 * Waits until the bytes are taken. A command that closes its stdin, or whose shim is gone, may be about to end. Whether
 * one took them that has ended is not known before what fed it has ended too.
 */
const AWAIT = `
sb_took() { sb_y=; read -r sb_y <"$sb_d/took"; [ "$sb_y" = "$sb_token" ]; }
sb_end() {
  sb_i=0
  until [ -e "$sb_d/exit" ] || [ "$sb_i" -ge "$2" ]; do sb_sleep 0.05; sb_i=$((sb_i + 1)); done
  if [ -e "$sb_d/exit" ]; then sb_say q; else sb_say "$1"; fi
  exit 0
}
sb_i=0 sb_until=
until sb_took; do
  if [ -e "$sb_d/exit" ]; then
    sb_i=0
    until sb_took || [ -e "$sb_d/fed" ] || ! sb_alive "$sb_p" || [ "$sb_i" -ge 100 ]; do
      sb_sleep 0.02; sb_i=$((sb_i + 1))
    done
    sb_took && break
    sb_say q
    exit 0
  fi
  sb_i=$((sb_i + 1))
  [ "$sb_i" -gt 100 ] || continue
  if [ $((sb_i % 10)) -eq 0 ]; then
    sb_alive "$sb_p" || sb_end l 60
    [ -n "$sb_until" ] || sb_until=$(($(date +%s) + sb_hold))
    [ "$(date +%s)" -lt "$sb_until" ] || { sb_say w; exit 0; }
  fi
  sb_sleep 0.02
done
[ ! -e "$sb_d/broken" ] || sb_end b 10
sb_say k
`;

/** Bytes to write: in the program itself, or in a file of the sandbox, below the home directory. */
export type StdinData = { readonly bytes: Uint8Array } | { readonly uploaded: string };

/** A program that hands over bytes, and waits for so many seconds until they are taken. `token` names them. */
export function writeProgram(
  { nonce, owner }: StdinTarget,
  token: string,
  data: StdinData,
  holdSeconds: number,
): string {
  const variables = assignments({ sb_id: nonce, sb_owner: owner, sb_token: token, sb_hold: holdSeconds });
  const put =
    'bytes' in data
      ? `printf 'p %s %s\\n' "$sb_token" '${octal(data.bytes)}' 1<>"$sb_d/c"`
      : `mv -f "$HOME/${data.uploaded}" "$sb_d/in.$sb_token" || { sb_say l; exit 0; }\necho "f $sb_token" 1<>"$sb_d/c"`;
  return `${variables}${COMMON}${OPEN}${OWNED}
[ ! -e "$sb_d/broken" ] || { sb_say b; exit 0; }
${put}
${AWAIT}`;
}

/** A program that waits on until what was handed over is taken. */
export function awaitProgram({ nonce }: StdinTarget, token: string, holdSeconds: number): string {
  const variables = assignments({ sb_id: nonce, sb_token: token, sb_hold: holdSeconds });
  return `${variables}${COMMON}${FIND}${AWAIT}`;
}

/** A program that ends the stdin, behind everything that was written. */
export function closeProgram({ nonce, owner }: StdinTarget): string {
  return `${assignments({ sb_id: nonce, sb_owner: owner })}${COMMON}${OPEN}${OWNED}
: >"$sb_d/eof"
echo 'e' 1<>"$sb_d/c"
sb_say k
`;
}

/** A program that takes stdin over. */
export function claimProgram({ nonce, owner }: StdinTarget): string {
  return `${assignments({ sb_id: nonce, sb_owner: owner })}${COMMON}${OPEN}
echo "$sb_owner" >"$sb_d/owner.$sb_owner" && mv -f "$sb_d/owner.$sb_owner" "$sb_d/owner" || { sb_say l; exit 0; }
sb_say k
`;
}

/** A format for `printf`, which takes every byte. */
function octal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
