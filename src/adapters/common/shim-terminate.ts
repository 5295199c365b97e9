import { assignments } from './shell-quote.js';
import { COMMON } from './shim-common.js';

/** How a session is stopped from inside. */
export interface Termination {
  readonly nonce: string;
  /** Of the shim, as the session's id has it: the leader of a process group, and of its session. */
  readonly pid: string;
  /** Between TERM and KILL. 0: KILL at once. */
  readonly graceMs: number;
}

/** A program for `sh` that stops a session, and says one word of how it went: `g`, `s`, `n` or `a`. */
export function terminateProgram({ nonce, pid, graceMs }: Termination): string {
  const variables = assignments({ sb_id: nonce, sb_want: pid, sb_grace: Math.ceil(graceMs / 10) });
  return `${variables}${COMMON}${TERMINATE}`;
}

/**
 * Signals the group of a shim and whatever else is in its session, and looks until nothing of it is left: `g` gone, `s`
 * still there 2 s after KILL, `n` it was not there, as far as journals tell, `a` the id is another session's. Zombies
 * are gone. While anything of a group lives, the system gives its number to nobody else; a process with that number
 * which is not our shim proves that all of it is gone. An exit is recorded only of a shim that was alive before a KILL
 * of ours, and left none.
 */
const TERMINATE = `
sb_clock() { read -r sb_now sb_y </proc/uptime; sb_now=\${sb_now%.*}\${sb_now#*.}; }
sb_members() {
  sb_m=
  for sb_f in /proc/[0-9]*/stat; do
    read -r sb_l <"$sb_f" || continue
    set -- \${sb_l##*) }
    [ "$3" = "$sb_p" ] || [ "$4" = "$sb_p" ] || continue
    case $1 in Z | X | x) continue ;; esac
    sb_f=\${sb_f%/stat}
    sb_m="$sb_m \${sb_f#/proc/}"
  done
  [ -n "$sb_m" ]
}
sb_signal() { kill -s "$1" -- "-$sb_p"; kill -s "$1" $sb_m; }
sb_find || { sb_say n; exit 0; }
read -r sb_p <"$sb_d/pid"
[ "$sb_p" = "$sb_want" ] || { sb_say a; exit 0; }
sb_was=
if sb_alive "$sb_p"; then sb_was=1
elif [ -r "/proc/$sb_p/stat" ]; then
  read -r sb_l <"/proc/$sb_p/stat"
  case \${sb_l##*) } in Z*) ;; *) sb_say n; exit 0 ;; esac
fi
sb_members || { sb_say n; exit 0; }
sb_clock
sb_end=$((sb_now + sb_grace)) sb_killed=
[ "$sb_grace" -eq 0 ] || sb_signal TERM
while sb_members; do
  sb_clock
  if [ "$sb_now" -ge "$sb_end" ]; then
    if [ -z "$sb_killed" ]; then sb_killed=1 sb_end=$((sb_now + 200))
    else sb_say s; exit 0; fi
  fi
  [ -z "$sb_killed" ] || sb_signal KILL
  sb_sleep 0.03
done
if [ -n "$sb_was" ] && [ -n "$sb_killed" ] && [ ! -e "$sb_d/exit" ]; then
  if [ -e "$sb_d/tty" ]; then sb_so=0 sb_se=0; else sb_sizes; fi
  [ -n "$sb_so" ] && [ -n "$sb_se" ] && echo "137 $sb_so $sb_se k" >"$sb_d/kill.$$" && mv -f "$sb_d/kill.$$" "$sb_d/exit"
fi
sb_say g
`;
