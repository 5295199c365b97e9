import { assignments } from '../common/shell-quote.js';

export interface Placement {
  /** Below the home directory. */
  readonly staged: string;
  /** Absolute, or below `~`. */
  readonly target: string;
  readonly bytes: number;
  /** `undefined`: that of the file that is there, else 644. */
  readonly mode?: number;
}

/**
 * A program that puts a staged file to its target: copied beside it, since both may be on different disks, then renamed
 * over it. Says `k` done; `d` the target is a directory; `p` its parents cannot be made;
 * `f` it cannot be written.
 */
export function placeProgram({ staged, target, bytes, mode }: Placement): string {
  const isBelow = target === '~' || target.startsWith('~/');
  const variables = assignments({
    sb_below: isBelow ? target.slice(2) : '',
    sb_target: isBelow ? '' : target,
    sb_staged: staged,
    sb_token: staged.slice(staged.lastIndexOf('/') + 1),
    sb_mode: mode === undefined ? '' : mode.toString(8),
    sb_bytes: bytes,
  });
  return `${variables}${PLACE}`;
}

const PLACE = `
exec 2>/dev/null
sb_staged=$HOME/$sb_staged
[ -n "$sb_target" ] || sb_target=$HOME/$sb_below
sb_say() { rm -f "$sb_staged" "$sb_new"; echo "@$1"; exit 0; }
sb_new=
if [ -h "$sb_target" ]; then
  sb_y=$(readlink -f "$sb_target" && echo x)
  [ -z "$sb_y" ] || sb_target=\${sb_y%?x}
fi
sb_parent=\${sb_target%/*}
[ ! -d "$sb_target" ] || sb_say d
mkdir -p "\${sb_parent:-/}" || sb_say p
sb_new=$sb_parent/.nestjs-sandbox-$sb_token
[ -n "$sb_mode" ] || sb_mode=$(stat -c %a "$sb_target") || sb_mode=644
( umask 077; cat "$sb_staged" >"$sb_new" ) || sb_say f
[ "$(wc -c <"$sb_new")" -eq "$sb_bytes" ] || sb_say f
chmod "$sb_mode" "$sb_new" || sb_say f
mv -f "$sb_new" "$sb_target" || sb_say f
sb_new=
sb_say k
`;
