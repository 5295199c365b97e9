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
sb_i=0
while sb_sizes; [ -e "$sb_d/end" ] && [ ! -e "$sb_d/exit" ] && [ "$sb_i" -lt 100 ]; do
  sb_sleep 0.01; sb_i=$((sb_i + 1))
done
if [ -e "$sb_d/exit" ]; then
  read -r sb_x <"$sb_d/exit"
  set -- $sb_x
  sb_so=$2 sb_se=$3
fi
[ "$sb_from_o" != now ] || sb_from_o=$sb_so
[ "$sb_from_e" != now ] || sb_from_e=$sb_se
if [ "$sb_from_o" -gt "$sb_so" ] || [ "$sb_from_e" -gt "$sb_se" ]; then sb_say "b $sb_so $sb_se"; exit 0; fi
[ -z "$sb_take" ] || : >"$sb_d/quiet"
if [ -e "$sb_d/stdin" ]; then sb_y=1; else sb_y=0; fi
sb_say "f $sb_from_o $sb_from_e $sb_y"
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
  [ -n "$sb_so" ] && [ -n "$sb_se" ] && echo "137 $sb_so $sb_se k" >"$sb_d/kill.$$" && mv -f "$sb_d/kill.$$" "$sb_d/exit"
fi
read -r sb_x <"$sb_d/exit"
sb_say "x $sb_x"
`;
