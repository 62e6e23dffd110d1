import { expect, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { rlClient } from './rl-client.ts';

const on = loopOnFolder();

test('rewarded sessions become a version; an idle session times out, and 429 announces when there is room', async () => {
  await on.start(
    '--backend',
    'wasm',
    '--collector-batch-size',
    '2',
    '--collector-max-staleness',
    '1',
    '--collector-session-timeout',
    '20',
    '--collector-sweep-ms',
    '200',
  );
  const rl = rlClient(() => on.loop.url);
  // two sessions fill two versions; serving knows the collector's settings
  const [first, left] = await Promise.all([rl.start('a'), rl.start('b')]);
  const third = () => rl.post('/rl/start_session', undefined, { task_id: 'e' });
  expect(await third()).toMatchObject({ status: 429, body: { error: { code: 'training_behind' } } });
  for (const reward of [1, -1]) {
    await rl.chat(first.api_key, `hello there, and ${reward}`);
    expect((await rl.post('/rl/set_reward', first.api_key, { reward })).status).toBe(200);
  }
  expect((await rl.post('/rl/end_session', first.api_key)).status).toBe(200);
  await until('there is a version', async () => (await on.run('policy', 'list')).includes('v1'), 120_000);
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
  expect(await on.run('audit')).toContain('balances');
});
