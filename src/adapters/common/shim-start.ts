/** Passes lines on up to one that equals `$0`. It fails where that does not come. A line is read byte by byte. */
const LINES = `while IFS= read -r sb_l; do
  [ "$sb_l" != "$0" ] || exit 0
  printf "%s\\n" "$sb_l"
done
exit 1`;

/**
 * What a shell is started with to read its program from stdin: lines up to one that equals `$0`, which holds the nonce
 * of the process. So nothing runs before this end is connected, no output is lost of what ends at once, and no variable
 * is in a URL or a list of processes, nor an argument beyond the title. What follows on stdin is the program's.
 */
export const FROM_STDIN = `sb=$(${LINES}) || exit 125
eval "$sb"
exit`;

/**
 * As {@link FROM_STDIN}, for what lives on without a connection: it ends unless the program comes within so many
 * seconds, since nobody may ever learn of it. Where there is no `timeout` it waits.
 */
export function fromStdinWithin(seconds: number): string {
  return `if command -v timeout >/dev/null; then sb=$(timeout ${seconds} sh -c '${LINES}' "$0")
else sb=$(${LINES}); fi || exit 125
eval "$sb"
exit`;
}

/**
 * As {@link FROM_STDIN} on a terminal, which must not echo the program. Says `w` when it can come, and ends when nothing
 * comes for 25 s, where the terminal can tell.
 */
export const FROM_TERMINAL = `sb_tty=$(stty -g) && stty raw -echo || exit 125
stty min 0 time 255 2>/dev/null
echo @w
${FROM_STDIN}`;
