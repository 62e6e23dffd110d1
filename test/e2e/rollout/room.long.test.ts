import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';

const turnsAgent = fileURLToPath(new URL('three-turns.ts', import.meta.url));

let folder: string;
let loop: ClawLoop | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-room-'));
});
afterEach(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

type Turn = { readonly stage: { readonly kind: string; readonly reason?: string } };

test('with all defaults, sessions of three turns train and hardly a sample is too old', async () => {
  loop = await startClawLoop(folder);
  const data = join(folder, 'tasks.jsonl');
  const tasks = ['tea', 'chess', 'bikes', 'sleep'].map((id) => ({ id, question: `Tell me about ${id}.` }));
  await writeFile(data, tasks.map((task) => JSON.stringify(task)).join('\n'));
  const { code, stdout, stderr } = await clawloop([
    'rollout',
    '--agent',
    turnsAgent,
    '--reward',
    turnsAgent,
    '--data',
    data,
    '--concurrency',
    '8',
    '--url',
    loop.url,
  ]);
  expect(code, stderr + stdout).toBe(0);
  const turns = await until(
    'all that will train has trained',
    async () => {
      const { stdout: lines } = await clawloop(['turns', 'list', '--json', '--data-folder', folder]);
      const all = lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Turn);
      const open = all.filter(({ stage }) => !['trained', 'not-trained'].includes(stage.kind));
      return open.length <= 1 && all.length >= 48 ? all : undefined; // a single sample makes no batch
    },
    300_000,
  );
  const count = (is: (turn: Turn) => boolean) => turns.filter(is).length;
  // of the 48 samples of sixteen attempts
  expect(count(({ stage }) => stage.reason === 'stale')).toBeLessThanOrEqual(4);
  expect(count(({ stage }) => stage.kind === 'trained')).toBeGreaterThanOrEqual(30);
  const audit = await clawloop(['audit', '--data-folder', folder]);
  expect(audit.stdout + audit.stderr).toContain('balances');
});
