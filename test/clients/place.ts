import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Place } from './client.ts';
import type { Launcher } from './install.ts';

/** A home without anything in it, a repository of git to work in, and no variable of the tests' own process. */
export async function emptyPlace(
  launcher: Launcher,
  url: string,
): Promise<Place & { readonly dispose: () => Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-client-'));
  const [home, folder] = [join(root, 'home'), join(root, 'work')];
  for (const one of [home, folder]) mkdirSync(one);
  const who = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, 'Person'],
    [`GIT_${role}_EMAIL`, 'person@example.org'],
  ]);
  const environment = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    ...Object.fromEntries(who),
  };
  writeFileSync(join(folder, 'README.md'), '# Pans\n');
  for (const argv of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-qm', 'Pans'],
  ])
    execFileSync('git', argv, { cwd: folder, env: environment });
  return {
    ...{ home, folder, environment, launcher, url },
    dispose: async () => {
      endDaemons(root);
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Some programs leave a daemon behind, in a group of its own. Its command line names the folder, which nobody else's does. */
function endDaemons(root: string): void {
  const { stdout } = spawnSync('pgrep', ['-f', root], { encoding: 'utf8' });
  for (const id of (stdout ?? '').split('\n').filter(Boolean))
    try {
      process.kill(Number(id), 'SIGTERM');
    } catch {} // it ended meanwhile
}
