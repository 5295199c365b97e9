/**
 * Defines `sb_pump`, which carries the shim's stdin into its own stdout, the pipe that the command reads, and keeps in
 * `$sb_d/taken` what that pipe took: "<bytes> <state>", where `-` is open, `e` ended and `b` has no reader any more.
 * Each `dd` reads once and writes until all is taken, so that a command which does not read holds the count back. The
 * pipe has no name: who opens /dev/stdin once it has ended gets its end, and does not wait for a writer.
 *
 * It says `i` with the same on descriptor 8. `sb_unpump` ends it, and a `dd` that waits with it; one that is busy has its
 * say about what the command took just before its end. The file `pump` holds its pid for as long as it runs.
 */
export const PUMP = `
sb_lock() {
  [ -n "$sb_ack" ] || return 0
  while sb_hit=; ! read -r sb_y <&7; do [ -n "$sb_hit" ] || return 1; done
}
sb_unlock() { [ -z "$sb_ack" ] || echo >&7; }
sb_taken() {
  echo "$sb_t $1" >"$sb_d/taken"
  sb_lock && { sb_say "i $sb_t $1" >&8; sb_unlock; }
}
sb_halt() {
  sb_over=1 sb_hit=1 sb_busy=
  [ -n "$sb_q" ] && sb_state "$sb_q" && [ -z "$sb_busy" ] && kill -KILL "$sb_q"
}
sb_carry() {
  sb_q= sb_s= sb_over=
  trap sb_halt USR1
  while :; do
    [ -z "$sb_over" ] || break
    LC_ALL=C dd bs=65536 count=1 <&9 2>"$sb_d/dd" 7<&- 8>&- & sb_q=$!
    sb_r=1
    while sb_hit=; wait "$sb_q"; sb_z=$?; [ "$sb_z" -eq 127 ] || sb_r=$sb_z; [ -n "$sb_hit" ]; do :; done
    sb_q=
    [ "$sb_r" -eq 0 ] || { [ -n "$sb_over" ] || sb_s=b; break; }
    { read -r sb_y; read -r sb_y; read -r sb_n sb_y; } <"$sb_d/dd"
    [ "$sb_n" -gt 0 ] || { sb_s=e; break; }
    sb_t=$((sb_t + sb_n))
    sb_taken -
  done
  exec 9<&- >&-
  [ -z "$sb_s" ] || sb_taken "$sb_s"
  while [ -d "$sb_d" ] && [ ! -e "$sb_d/pump" ]; do sb_sleep 0.01; done
  rm -f "$sb_d/dd" "$sb_d/pump"
}
sb_pump() {
  trap '' TERM INT HUP QUIT PIPE
  sb_t=0
  sb_taken -
  exec 9<&0
  sb_carry & echo "$!" >"$sb_d/pump"
}
sb_unpump() {
  sb_i=0
  while read -r sb_y <"$sb_d/pump" && kill -USR1 "$sb_y" && [ "$sb_i" -lt 100 ]; do sb_sleep 0.01; sb_i=$((sb_i + 1)); done
}
`;
