import { chmod, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** Where things lie under a root. Everything that is not a sandbox is in `.runner`. */
export interface Root {
  readonly path: string;
  readonly runner: string;
  /** One empty file per suspended sandbox. */
  readonly state: string;
  readonly sessions: string;
  readonly trash: string;
  readonly tmp: string;
}

/** Makes the root and `.runner` where they are missing, both 0700 whatever the umask. */
export async function openRoot(path: string): Promise<Root> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  // Markers in the environment of children and confinement of files compare whole paths.
  const real = await realpath(path);
  const runner = join(real, '.runner');
  const root: Root = {
    path: real,
    runner,
    state: join(runner, 'state'),
    sessions: join(runner, 'sessions'),
    trash: join(runner, 'trash'),
    tmp: join(runner, 'tmp'),
  };
  await chmod(real, 0o700);
  for (const directory of [runner, root.state, root.sessions, root.trash, root.tmp]) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await chmod(directory, 0o700);
  }
  return root;
}
