import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../harness/clawloop.ts';

const cli = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));

let temporary: string;
beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'clawloop-own-'));
});
afterEach(() => rm(temporary, { recursive: true, force: true }));

/** The demonstration on its own server, on a machine with settings for another server. */
function startDemo() {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', cli, 'demo', 'lifecycle', '--own', '--wait', '120'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        TMPDIR: temporary,
        CLAWLOOP_SERVING_API_KEY: 'of-the-other-one',
        CLAWLOOP_LOG: 'kafka',
      },
    },
  );
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return { child, ended, said: () => said };
}

test('the demonstration ends in a version, and leaves nothing behind', async () => {
  const demo = startDemo();
  expect(await demo.ended, demo.said()).toBe(0);
  // its first session is a batch, and the one sample of the second waits for more
  expect(demo.said()).toMatch(/^new version +v1, /m);
  expect(await readdir(temporary)).toEqual([]);
});

test('Ctrl-C leaves nothing behind either', async () => {
  const demo = startDemo();
  await until('a session began', () => /start_session/.test(demo.said()), 120_000);
  const [folder] = await readdir(temporary);
  expect(folder).toMatch(/^clawloop-demo-/);
  demo.child.kill('SIGINT');
  expect(await demo.ended, demo.said()).toBe(130);
  expect(await readdir(temporary)).toEqual([]);
});
