// The parts of the programs that run inside a sandbox: POSIX sh, for dash, bash and busybox. What they print on their
// stdout are the records that `JournalParser` reads, and nothing else ever writes there. Variables begin with `sb_`, so
// that none of the sandbox's own environment is overwritten.
//
// The journal of a session is a directory `$HOME/.nestjs-sandbox/<kind>/<nonce>`, mode 0700:
//   pid     of the shim, which is the parent of the command
//   out err what the command wrote, byte by byte
//   exit    "<code> <bytes of out> <bytes of err> <how>", renamed into place: once it is there, it is whole
//   end     present once the exit is about to be recorded: what was measured after it is perhaps beyond that
//   stdin   present where the command has an open stdin
//   tty     present for a session on a terminal, which has no `out` and no `err`
//   o e     the FIFOs of stdout and stderr, there until the exit is recorded, or could not be
//   quiet   whoever makes it tells the shim to print no more output, since another reader took over
//   i       a FIFO where stdin does not come from the shim's own
//   taken   "<bytes> <state>" of stdin that goes through the pump, see `PUMP`; `lock` is a FIFO that holds a line
//           while nobody prints a piece

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

/** The most that a piece has, in bytes. */
const PIECE = `
sb_most=1048576
`;

/**
 * Prints its input as lines, none of which begins with `@`: of base64, or of hexadecimal bytes, which begin with a blank.
 * The latter are more than twice as long, so that a piece has half as much.
 */
const TEXT = `
if command -v base64 >/dev/null; then sb_text() { base64; }
else sb_most=524288; sb_text() { od -An -v -tx1; }; fi
`;

/**
 * `sb_emit <offset of out> <offset of err> <credits>` prints both streams from there on as they grow, then the exit.
 * Each credit is worth one piece of at most 1 MiB; without any it waits for a line on stdin, and ends paused at EOF.
 * Negative: as much as there is. A session whose shim is gone gets 2 s in which whoever killed it may write the exit.
 * With credits, whenever the pump of stdin took more, `i` says how much in all, also while credit is waited for.
 * `sb_lock` keeps the pump, which says so itself to whoever started it, from speaking in the middle of a piece.
 * With `sb_hold` it ends paused soon after it has printed all that there was, or after so many seconds.
 *
 * @param encode what the bytes of a piece go through
 */
function emit(encode: '' | ' | sb_text'): string {
  return `
sb_lock() { :; }
sb_unlock() { :; }
sb_tell() {
  [ -e "$sb_d/taken" ] && read -r sb_y <"$sb_d/taken" && [ "$sb_y" != "$sb_told" ] || return 1
  sb_told=$sb_y
  sb_say "i $sb_y"
}
sb_credit() {
  sb_q=
  if [ -e "$sb_d/taken" ]; then while :; do sb_tell; sb_sleep 0.02 >/dev/null; done & sb_q=$!; fi
  sb_c=1; read -r sb_y || sb_c=
  [ -z "$sb_q" ] || { kill -KILL "$sb_q"; wait "$sb_q"; }
  [ -n "$sb_c" ]
}
sb_piece() {
  sb_n=$(($4 - $3))
  [ "$sb_n" -gt 0 ] || return 1
  [ "$sb_n" -le "$sb_most" ] || sb_n=$sb_most
  if [ "$sb_w" -eq 0 ]; then sb_credit || { sb_say p; exit 0; }
  elif [ "$sb_w" -gt 0 ]; then sb_w=$((sb_w - 1)); fi
  sb_lock
  sb_say "$1 $3 $sb_n"
  tail -c "+$(($3 + 1))" "$sb_d/$2" | head -c "$sb_n"${encode}
  sb_unlock
}
sb_over() {
  [ -n "$sb_hold" ] || return 1
  [ "$sb_hold" -gt 0 ] || return 0
  if [ -n "$sb_any" ]; then [ "$sb_i" -ge 4 ]; return; fi
  [ $((sb_i % 10)) -eq 9 ] && [ "$(date +%s)" -ge "$sb_until" ]
}
sb_coming() { [ -e "$sb_d/o" ] || [ -e "$sb_d/exit" ]; }
sb_emit() {
  sb_o=$1 sb_e=$2 sb_w=$3 sb_i=0 sb_gone=0 sb_any= sb_told=
  [ -z "$sb_hold" ] || sb_until=$(($(date +%s) + sb_hold))
  while :; do
    sb_x=
    if [ -e "$sb_d/exit" ]; then read -r sb_x <"$sb_d/exit"
    elif [ "$sb_w" -lt 0 ]; then [ ! -e "$sb_d/quiet" ] || return
    elif [ $((sb_i % 10)) -eq 0 ] && ! sb_alive "$sb_p"; then sb_gone=$((sb_gone + 1))
    fi
    if [ -n "$sb_x" ]; then set -- $sb_x; sb_so=$2 sb_se=$3
    else
      sb_sizes
      if [ -e "$sb_d/end" ] && sb_coming; then sb_so=$sb_o sb_se=$sb_e; fi
    fi
    sb_moved=
    if [ "$sb_w" -ge 0 ] && sb_tell; then sb_i=0; fi
    if sb_piece o out "$sb_o" "$sb_so"; then sb_o=$((sb_o + sb_n)) sb_moved=1; fi
    if sb_piece e err "$sb_e" "$sb_se"; then sb_e=$((sb_e + sb_n)) sb_moved=1; fi
    if [ -n "$sb_moved" ]; then sb_i=0 sb_any=1; continue; fi
    if [ -n "$sb_x" ]; then sb_say "x $sb_x"; return; fi
    if [ "$sb_w" -ge 0 ]; then [ -d "$sb_d" ]; else sb_coming; fi || { sb_say l; return; }
    if [ "$sb_gone" -gt 4 ]; then [ -e "$sb_d/exit" ] || { sb_say l; return; }; fi
    if sb_over; then sb_say p; return; fi
    sb_i=$((sb_i + 1))
    if [ "$sb_i" -lt 5 ]; then sb_sleep 0.01
    elif [ "$sb_i" -lt 300 ]; then sb_sleep 0.05
    else sb_sleep 0.2; fi
  done
}
`;
}

/** Defines `sb_emit`. */
export const EMIT = `${PIECE}${emit('')}`;

/** As {@link EMIT}, in lines of text: for ways that carry no bytes. */
export const EMIT_TEXT = `${PIECE}${TEXT}${emit(' | sb_text')}`;
