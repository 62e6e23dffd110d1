import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';
import { rlClient } from './rl-client.ts';

let folder: string;
let loop: ClawLoop | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-rl-'));
});
afterEach(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

const command = async (...argv: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await clawloop([...argv, '--data-folder', folder]);
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}${stdout}`);
  return stdout;
};

test('rewarded sessions become a version; one that is left alone ends by itself, and 429 says when there is room', async () => {
  loop = await startClawLoop(folder, [
    ...['--backend', 'wasm', '--collector-batch-size', '2', '--collector-max-staleness', '1'],
    ...['--collector-session-timeout', '20', '--collector-sweep-ms', '200'],
  ]);
  const rl = rlClient(() => loop!.url);
  // two sessions of some answers are as many as two versions consume: serving knows the collector's settings
  const [first, left] = await Promise.all([rl.start('a'), rl.start('b')]);
  const third = () => rl.post('/rl/start_session', undefined, { task_id: 'e' });
  expect(await third()).toMatchObject({ status: 429, body: { error: { code: 'training_behind' } } });
  for (const reward of [1, -1]) {
    await rl.chat(first.api_key, `hello there, and ${reward}`);
    expect((await rl.post('/rl/set_reward', first.api_key, { reward })).status).toBe(200);
  }
  expect((await rl.post('/rl/end_session', first.api_key)).status).toBe(200);
  await until('there is a version', async () => (await command('policy', 'list')).includes('v1'), 120_000);
  await until('there is room', async () => (await third()).status === 200);
  const gone = {
    ...left,
    ...(await until('it ended', async () => {
      const { body } = await rl.get('/rl/sessions');
      const found = body.data.find(
        ({ session_id }: { session_id: string }) => session_id === left.session_id,
      );
      return found.state === 'ended' ? found : undefined;
    })),
  };
  expect(gone.end_reason).toBe('idle');
  expect((await rl.post('/rl/set_reward', left.api_key, { reward: 1 })).status).toBe(410);
  expect(await command('audit')).toContain('balances');
});
