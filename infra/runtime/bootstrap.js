// Installs what a fresh clone lacks: the packages of the lockfile and, if the machine's Node is older than 24,
// Node itself.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { machineNodeIsRecent, nodePath, root } from './node-path.js';

const stamp = join(root, 'node_modules', '.clawloop-lock');
const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');

if (nodePath() === undefined) {
  install(
    `Node 24 (this machine has only ${process.versions.node}; kept in this folder)`,
    join(root, 'infra', 'runtime'),
  );
}
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
  // no package needs its install script: the two with a script have prebuilt binaries
  install('packages', root, ['--ignore-scripts']);
  writeFileSync(stamp, lock);
}

function install(what, folder, flags = []) {
  console.error(`clawloop: installing ${what} ...`);
  const started = Date.now();
  const path =
    machineNodeIsRecent || nodePath() === undefined
      ? process.env.PATH
      : dirname(nodePath()) + delimiter + process.env.PATH;
  const { status, error } = spawnSync(
    'npm',
    ['ci', ...flags, '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: folder,
      stdio: ['ignore', 2, 2],
      env: { ...process.env, PATH: path, npm_config_progress: 'true' },
    },
  );
  if (status !== 0) {
    console.error(
      `clawloop: npm ci failed in ${folder}: ${error?.message ?? `exit ${status}`}. Is the npm registry reachable?`,
    );
    process.exit(1);
  }
  console.error(`clawloop: installed ${what} in ${Math.round((Date.now() - started) / 1000)} s`);
}
