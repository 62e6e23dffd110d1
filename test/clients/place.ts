import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { until } from '../e2e/harness/clawloop.ts';
import type { Place } from './client.ts';
import type { Launcher } from './install.ts';

/** An empty home, a git repository to work in, and no variable of the tests' own process. */
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
    home,
    folder,
    environment,
    launcher,
    url,
    dispose: async () => {
      await endDaemons(root);
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** ms that a daemon has to end */
const DAEMONS_MS = 10_000;

/** Some programs leave a daemon behind, in its own group. Only its command line contains the folder. */
async function endDaemons(root: string): Promise<void> {
  const ids = () => spawnSync('pgrep', ['-f', root], { encoding: 'utf8' }).stdout ?? '';
  for (const id of ids().split('\n').filter(Boolean))
    try {
      process.kill(Number(id), 'SIGTERM');
    } catch {} // it ended meanwhile
  // files that it writes at its end would create the folder again
  await until('the daemons end', () => ids().trim() === '', DAEMONS_MS).catch(() => {});
}
