import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { isAlive } from './is-alive.ts';

/** A shell, and the process id that it prints. */
async function shellWith(script: string): Promise<{ readonly shell: number; readonly pid: number }> {
  const shell = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void shell.kill());
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  return { shell: shell.pid!, pid: Number(line) };
}

test.runIf(process.platform === 'linux')('a zombie counts as ended', async () => {
  const { shell, pid } = await shellWith('sleep 60 & echo $!; exec sleep 61');
  const isSleeping = async () => (await readFile(`/proc/${shell}/comm`, 'utf8')) === 'sleep\n';
  await expect.poll(isSleeping, { timeout: 20_000 }).toBe(true); // the shell has become `sleep`, which collects no exit codes
  expect(isAlive(pid)).toBe(true);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
  expect(process.kill(pid, 0)).toBe(true); // the system still knows it
});

test('a running process is alive until it is killed', async () => {
  const { pid } = await shellWith('echo $$; exec sleep 60');
  expect([isAlive(pid), isAlive(process.pid)]).toEqual([true, true]);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
});
