// The parts of the programs that run inside a sandbox: POSIX sh, for dash, bash and busybox. What they print on their
// stdout are the records that `JournalParser` reads, and nothing else ever writes there. Variables begin with `sb_`, so
// that none of the sandbox's own environment is overwritten.
//
// The journal of a session is a directory `$HOME/.nestjs-sandbox/<kind>/<nonce>`, mode 0700:
//   pid     of the shim, which is the parent of the command
//   out err what the command wrote, byte by byte
//   exit    "<code> <bytes of out> <bytes of err> <how>", renamed into place: once it is there, it is whole
//   tty     present for a session on a terminal, which has no `out` and no `err`
//   quiet   whoever makes it tells the shim to print no more output, since another reader took over

/**
 * What a shell is started with to read its program from stdin: lines up to one that equals `$0`, which holds the nonce
 * of the process. So nothing runs before this end is connected, no output is lost of what ends at once, and neither
 * arguments nor variables are in a URL or a list of processes. What follows on stdin is the program's.
 */
export const FROM_STDIN = `sb=
while IFS= read -r sb_l; do
  [ "$sb_l" != "$0" ] || { eval "$sb"; exit; }
  sb=$sb$sb_l'
'
done`;

/** As {@link FROM_STDIN} on a terminal, which must not echo the program. Says `w` when it can come. */
export const FROM_TERMINAL = `sb_tty=$(stty -g) && stty raw -echo || exit 125
echo @w
${FROM_STDIN}`;

/** What every program needs. */
export const COMMON = `
exec 2>/dev/null
sb_say() { printf '@%s\\n' "$*"; }
sb_sleep() { sleep "$1" || sleep 1; }
sb_sizes() {
  {
    read -r sb_y sb_y sb_y sb_y sb_se sb_y
    read -r sb_y sb_y sb_y sb_y sb_so sb_y
  } <<SB
$(LC_ALL=C ls -ln "$sb_d/err" "$sb_d/out")
SB
}
sb_alive() {
  [ -n "$1" ] && kill -0 "$1" && { [ ! -r "/proc/$1/cmdline" ] || grep -q -- "$sb_id" "/proc/$1/cmdline"; }
}
sb_find() {
  sb_d=$HOME/.nestjs-sandbox/sessions/$sb_id
  [ -d "$sb_d" ] || sb_d=$HOME/.nestjs-sandbox/runs/$sb_id
  [ -d "$sb_d" ]
}
`;

/**
 * `sb_emit <offset of out> <offset of err> <credits>` prints both streams from there on as they grow, then the exit.
 * Each credit is worth one piece of at most 1 MiB; without any it waits for a line on stdin, and ends paused at EOF.
 * Negative: as much as there is. A session whose shim is gone gets 2 s in which whoever killed it may write the exit.
 */
export const EMIT = `
sb_piece() {
  sb_n=$(($4 - $3))
  [ "$sb_n" -gt 0 ] || return 1
  [ "$sb_n" -le 1048576 ] || sb_n=1048576
  if [ "$sb_w" -eq 0 ]; then read -r sb_y || { sb_say p; exit 0; }
  elif [ "$sb_w" -gt 0 ]; then sb_w=$((sb_w - 1)); fi
  sb_say "$1 $3 $sb_n"
  tail -c "+$(($3 + 1))" "$sb_d/$2" | head -c "$sb_n"
}
sb_emit() {
  sb_o=$1 sb_e=$2 sb_w=$3 sb_i=0 sb_gone=0
  while :; do
    sb_x=
    if [ -e "$sb_d/exit" ]; then read -r sb_x <"$sb_d/exit"
    elif [ "$sb_w" -lt 0 ]; then [ ! -e "$sb_d/quiet" ] || return
    elif [ $((sb_i % 10)) -eq 0 ] && ! sb_alive "$sb_p"; then sb_gone=$((sb_gone + 1))
    fi
    sb_sizes
    if [ -n "$sb_x" ]; then set -- $sb_x; sb_so=$2 sb_se=$3; fi
    sb_moved=
    if sb_piece o out "$sb_o" "$sb_so"; then sb_o=$((sb_o + sb_n)) sb_moved=1; fi
    if sb_piece e err "$sb_e" "$sb_se"; then sb_e=$((sb_e + sb_n)) sb_moved=1; fi
    if [ -n "$sb_moved" ]; then sb_i=0; continue; fi
    if [ -n "$sb_x" ]; then sb_say "x $sb_x"; return; fi
    if [ "$sb_gone" -gt 4 ]; then [ -e "$sb_d/exit" ] || { sb_say l; return; }; fi
    sb_i=$((sb_i + 1))
    if [ "$sb_i" -lt 5 ]; then sb_sleep 0.01
    elif [ "$sb_i" -lt 300 ]; then sb_sleep 0.05
    else sb_sleep 0.2; fi
  done
}
`;

/**
 * Runs "$@" as the child of the shim. Told by variables: `sb_kind` (`sessions` or `runs`) and how many ended ones of it
 * to `sb_keep`, `sb_dir`, `sb_cmd` with the `sb_path` to look it up in, and flags: `sb_in` (stdin is open), `sb_merge`
 * (stderr into stdout), `sb_tty` (its saved settings), `sb_rm` (keep no journal).
 *
 * Output goes through FIFOs, so that a command which opens /dev/stdout truncates nothing. Their pumps, and the printing
 * of output, ignore the signals that stop a group. What the leader wrote is in the journal once its pump ended, or
 * sleeps on an empty FIFO because others still hold the other end; what those write later is not part of the session.
 * The leader runs in the foreground: the status of `wait` cannot be told from its own interruption. After a TERM the
 * group does not outlive the leader.
 */
export const RUN = `
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
  else sb_y=$(ps -o stat= -p "$1"); fi
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
    sb_sizes
    if [ -z "$sb_busy" ]; then
      [ -n "$sb_open" ] || break
      [ "$sb_was" != "$sb_so $sb_se" ] || return
    fi
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
sb_d=$HOME/.nestjs-sandbox/$sb_kind/$sb_id
cd "$HOME" && cd "$sb_dir" >/dev/null || { sb_say d; exit 125; }
sb_lookup
(
  umask 077
  mkdir -p "$sb_d" && : >"$sb_d/out" && : >"$sb_d/err" && mkfifo "$sb_d/o" "$sb_d/e" && echo "$$" >"$sb_d/pid"
) || { sb_say j; exit 125; }
sb_p=$$ sb_how=- sb_term= sb_pe=
trap sb_term=1 TERM
trap : INT HUP QUIT
sb_say "r $$ \${sb_start:-0}"
if [ -n "$sb_tty" ]; then
  rm -f "$sb_d/out" "$sb_d/err"; : >"$sb_d/tty"
  stty "$sb_tty"
fi
if [ -n "$sb_start" ]; then
  sb_c=$sb_start sb_how=s
elif [ -n "$sb_tty" ]; then
  ( trap ': >"$sb_d/nostart"' EXIT; exec 2>&1; exec "$@" )
  sb_c=$?
else
  ( sb_deaf; exec cat <"$sb_d/o" >>"$sb_d/out" ) & sb_po=$!
  if [ -z "$sb_merge" ]; then
    ( sb_deaf; exec cat <"$sb_d/e" >>"$sb_d/err" ) & sb_pe=$!
  fi
fi
if [ -z "$sb_tty" ]; then
  ( sb_deaf; sb_emit 0 0 -1; : >"$sb_d/emitted" ) & sb_em=$!
fi
if [ -z "$sb_start$sb_tty" ]; then
  (
    trap ': >"$sb_d/nostart"' EXIT
    exec >"$sb_d/o"
    if [ -n "$sb_merge" ]; then exec 2>&1; else exec 2>"$sb_d/e"; fi
    [ -n "$sb_in" ] || exec </dev/null
    exec "$@"
  )
  sb_c=$?
  sb_drain
fi
[ ! -e "$sb_d/nostart" ] || sb_how=s
if [ -n "$sb_tty" ]; then sb_so=0 sb_se=0; else sb_sizes; fi
echo "$sb_c $sb_so $sb_se $sb_how" >"$sb_d/exit.tmp" && mv -f "$sb_d/exit.tmp" "$sb_d/exit"
rm -f "$sb_d/o" "$sb_d/e"
if [ -n "$sb_term" ]; then
  sb_i=0
  until [ -n "$sb_tty" ] || [ -e "$sb_d/emitted" ] || [ "$sb_i" -ge 50 ]; do sb_sleep 0.02; sb_i=$((sb_i + 1)); done
else
  [ -n "$sb_tty" ] || wait "$sb_em"
fi
if [ -n "$sb_rm" ]; then rm -rf "$sb_d"; else sb_prune; fi
[ -z "$sb_term" ] || [ -n "$sb_tty" ] || kill -KILL 0
exit "$sb_c"
`;

/**
 * Prints a session from `sb_from_o` and `sb_from_e`, each a number or `now`, with `sb_credits`. With `sb_take` the shim
 * is told to print no more.
 */
export const READ = `
sb_find || { sb_say n; exit 0; }
sb_p=; read -r sb_p <"$sb_d/pid"
if [ -e "$sb_d/tty" ]; then
  sb_say t
  if [ -e "$sb_d/exit" ]; then read -r sb_x <"$sb_d/exit"; sb_say "x $sb_x"
  elif ! sb_alive "$sb_p" && [ ! -e "$sb_d/exit" ]; then sb_say l
  fi
  exit 0
fi
sb_sizes
if [ -e "$sb_d/exit" ]; then
  read -r sb_x <"$sb_d/exit"
  set -- $sb_x
  sb_so=$2 sb_se=$3
fi
[ "$sb_from_o" != now ] || sb_from_o=$sb_so
[ "$sb_from_e" != now ] || sb_from_e=$sb_se
if [ "$sb_from_o" -gt "$sb_so" ] || [ "$sb_from_e" -gt "$sb_se" ]; then sb_say "b $sb_so $sb_se"; exit 0; fi
[ -z "$sb_take" ] || : >"$sb_d/quiet"
sb_say "f $sb_from_o $sb_from_e"
sb_emit "$sb_from_o" "$sb_from_e" "$sb_credits"
`;

/** Says how a session stands: `a <pid>` alive, `x …` ended, `l` gone without an exit, `n` there is none. */
export const PROBE = `
sb_find || { sb_say n; exit 0; }
sb_p=; read -r sb_p <"$sb_d/pid"
if sb_alive "$sb_p"; then sb_say "a $sb_p"
elif [ -e "$sb_d/exit" ]; then read -r sb_x <"$sb_d/exit"; sb_say "x $sb_x"
else sb_say l; fi
`;

/** Records the exit of a session whose group was killed: only if nothing is recorded and its shim is gone. */
export const RECORD_KILL = `
sb_find || { sb_say n; exit 0; }
sb_p=; read -r sb_p <"$sb_d/pid"
if [ ! -e "$sb_d/exit" ]; then
  if sb_alive "$sb_p"; then sb_say "a $sb_p"; exit 0; fi
  if [ -e "$sb_d/tty" ]; then sb_so=0 sb_se=0; else sb_sizes; fi
  echo "137 $sb_so $sb_se k" >"$sb_d/kill.$$" && mv -f "$sb_d/kill.$$" "$sb_d/exit"
fi
read -r sb_x <"$sb_d/exit"
sb_say "x $sb_x"
`;
