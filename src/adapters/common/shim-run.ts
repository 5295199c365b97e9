import { PUMP } from './shim-pump.js';

/**
 * Runs "$@" as the child of the shim. Told by variables: `sb_kind` (`sessions` or `runs`) and how many ended ones of it
 * to `sb_keep`, `sb_dir`, `sb_cmd` with the `sb_path` to look it up in, and flags: `sb_in` (stdin is open), `sb_merge`
 * (stderr into stdout), `sb_tty` (its saved settings), `sb_rm` (keep no journal), `sb_sole` (the shim lets go of its
 * stdin: a helper holds it until the command has opened it), `sb_ack` (stdin goes through a pump that counts).
 *
 * Output goes through FIFOs, so that a command which opens /dev/stdout truncates nothing. Their pumps, and the printing
 * of output, ignore the signals that stop a group. What the leader wrote is in the journal once its pump ended, or
 * sleeps on an empty FIFO because others still hold the other end; what those write later is not part of the session.
 * After the leader the shim and its own helpers ignore those signals too: one that dies of them would spoil the record.
 * Where the exit cannot be recorded, what prints output learns it by the FIFOs, which are gone without one.
 * The leader runs in the foreground: the status of `wait` cannot be told from its own interruption. After a TERM the
 * group does not outlive the leader.
 */
export const RUN = `${PUMP}
sb_try() {
  if [ -d "$1" ]; then sb_start=126
  elif [ -x "$1" ]; then sb_start=
  elif [ -e "$1" ]; then sb_start=126; fi
}
sb_lookup() {
  sb_start=127
  case $sb_cmd in
  */*) sb_try "$sb_cmd" ;;
  *)
    sb_ifs=$IFS; IFS=:; set -f
    for sb_y in \${sb_path:-$PATH}; do
      sb_try "\${sb_y:-.}/$sb_cmd"
      [ -n "$sb_start" ] || break
    done
    IFS=$sb_ifs; set +f ;;
  esac
}
sb_deaf() { trap '' TERM INT HUP QUIT; }
sb_state() {
  sb_y=
  if [ -r "/proc/$1/stat" ]; then read -r sb_y <"/proc/$1/stat"; sb_y=\${sb_y##*) }
  elif [ ! -r /proc/self/stat ]; then sb_y=$(ps -o stat= -p "$1"); fi
  case $sb_y in
  '' | Z*) ;;
  S* | I*) sb_open=1 ;;
  *) sb_busy=1 ;;
  esac
}
sb_drain() {
  sb_i=0 sb_was=
  while [ "$sb_i" -lt 100 ]; do
    sb_open= sb_busy=
    sb_state "$sb_po"
    [ -z "$sb_pe" ] || sb_state "$sb_pe"
    [ -n "$sb_open$sb_busy" ] || break
    sb_sizes
    [ -n "$sb_busy" ] || [ "$sb_was" != "$sb_so $sb_se" ] || return
    sb_was="$sb_so $sb_se" sb_i=$((sb_i + 1))
    sb_sleep 0.01
  done
  [ "$sb_i" -lt 100 ] || return
  wait "$sb_po" || sb_how=j
  [ -z "$sb_pe" ] || wait "$sb_pe" || sb_how=j
}
sb_prune() {
  cd "$HOME/.nestjs-sandbox/$sb_kind" || return
  sb_me=$sb_id
  ls -t | tail -n "+$((sb_keep + 1))" | while read -r sb_id; do
    sb_p=; read -r sb_p <"$sb_id/pid"
    if [ "$sb_id" = "$sb_me" ]; then continue; fi
    if [ -e "$sb_id/exit" ] || ! sb_alive "$sb_p"; then rm -rf "$sb_id"; fi
  done
}
sb_command() {
  trap ': >"$sb_d/nostart"' EXIT
  exec >"$sb_d/o"
  if [ -n "$sb_merge" ]; then exec 2>&1; else exec 2>"$sb_d/e"; fi
  if [ -n "$sb_h" ]; then exec <"/proc/$sb_h/fd/3"; kill -KILL "$sb_h"
  elif [ -p "$sb_d/i" ]; then exec <"$sb_d/i"; elif [ -z "$sb_in" ]; then exec </dev/null; fi
  exec "$@"
}
sb_d=$HOME/.nestjs-sandbox/$sb_kind/$sb_id
cd "$HOME" && cd "$sb_dir" >/dev/null || { sb_say d; exit 125; }
sb_lookup
(
  umask 077
  mkdir -p "$sb_d" && : >"$sb_d/out" && : >"$sb_d/err" && mkfifo "$sb_d/o" "$sb_d/e" && echo "$$" >"$sb_d/pid"
) || { sb_say j; exit 125; }
[ -z "$sb_in" ] || : >"$sb_d/stdin"
sb_p=$$ sb_how=- sb_term= sb_pe=
trap sb_term=1 TERM
trap : INT HUP QUIT
if [ -n "$sb_tty" ]; then
  rm -f "$sb_d/out" "$sb_d/err"; : >"$sb_d/tty"
  stty "$sb_tty"
fi
sb_say "r $$ \${sb_start:-0}"
[ -n "$sb_rm" ] || ( sb_deaf; sb_prune ) &
if [ -n "$sb_start" ]; then
  sb_c=$sb_start sb_how=s
elif [ -n "$sb_tty" ]; then
  ( trap ': >"$sb_d/nostart"' EXIT; exec 2>&1; exec "$@" )
  sb_c=$?
  sb_deaf
else
  ( sb_deaf; exec cat <"$sb_d/o" >>"$sb_d/out" ) & sb_po=$!
  if [ -z "$sb_merge" ]; then
    ( sb_deaf; exec cat <"$sb_d/e" >>"$sb_d/err" ) & sb_pe=$!
  fi
fi
if [ -n "$sb_ack" ]; then mkfifo -m 600 "$sb_d/lock" && exec 7<>"$sb_d/lock" && sb_unlock; fi
if [ -z "$sb_tty" ]; then
  ( sb_deaf; sb_emit 0 0 -1; : >"$sb_d/emitted" ) & sb_em=$!
fi
sb_h=
if [ -n "$sb_sole" ] && [ -n "$sb_in" ] && [ -z "$sb_start$sb_tty" ] && [ -p /proc/self/fd/0 ]; then
  exec 3<&0 </dev/null
  sleep 60 & sb_h=$!
  exec 3<&-
fi
if [ -z "$sb_start$sb_tty" ]; then
  if [ -n "$sb_ack" ]; then { sb_pump | ( exec 7<&- 8>&-; sb_command "$@" ); } 8>&1
  else ( sb_command "$@" ); fi
  sb_c=$?
  sb_deaf
  sb_drain
  [ -z "$sb_ack" ] || sb_unpump
fi
[ ! -e "$sb_d/nostart" ] || sb_how=s
: >"$sb_d/end"
if [ -n "$sb_tty" ]; then sb_so=0 sb_se=0; else sb_sizes; fi
[ -n "$sb_so" ] && [ -n "$sb_se" ] &&
  echo "$sb_c $sb_so $sb_se $sb_how" >"$sb_d/exit.tmp" && mv -f "$sb_d/exit.tmp" "$sb_d/exit"
rm -f "$sb_d/o" "$sb_d/e" || [ -n "$sb_tty" ] || kill -KILL "$sb_em"
if [ -n "$sb_term" ]; then
  sb_i=0
  until [ -n "$sb_tty" ] || [ -e "$sb_d/emitted" ] || [ "$sb_i" -ge 50 ]; do sb_sleep 0.02; sb_i=$((sb_i + 1)); done
else
  [ -n "$sb_tty" ] || wait "$sb_em"
fi
[ -z "$sb_rm" ] || rm -rf "$sb_d"
[ -z "$sb_term" ] || [ -n "$sb_tty" ] || kill -KILL 0
exit "$sb_c"
`;
