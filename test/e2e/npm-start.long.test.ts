import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';
import { freePort, until } from './harness/clawloop.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  );

/** Whether the group has a process. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}

test('the end of npm start ends all services', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-npm-'));
  const [serving, collector, judge, trainer] = await Promise.all(Array.from({ length: 4 }, freePort));
  const ports = [serving!, collector!, judge!, trainer!];
  const health = ['collector', 'judge', 'trainer'].flatMap((name, index) => [
    `--${name}-health-port`,
    String(ports[index + 1]),
  ]);
  const flags = ['--data-folder', folder, '--port', String(serving), ...health];
  // a separate group, so that the test can end every remaining process
  const npm = spawn('npm', ['start', '--', ...flags], { cwd: root, stdio: 'ignore', detached: true });
  try {
    await until('all services answer', async () => (await Promise.all(ports.map(answers))).every(Boolean));
    npm.kill('SIGTERM');
    if (npm.exitCode === null && npm.signalCode === null) await once(npm, 'exit');
    await until('no process of it is left', () => !signalGroup(npm.pid!, 0));
  } finally {
    signalGroup(npm.pid!, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
});
