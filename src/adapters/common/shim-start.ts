/**
 * What a shell is started with to read its program from stdin: lines up to one that equals `$0`, which holds the nonce
 * of the process. So nothing runs before this end is connected, no output is lost of what ends at once, and no variable
 * is in a URL or a list of processes, nor an argument beyond the title. What follows on stdin is the program's.
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
