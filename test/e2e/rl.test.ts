import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RlClient, rlClient } from './rl-client.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  type UpstreamDouble,
  upstreamDouble,
  usageFrame,
} from './serving-upstream-double.ts';

let folder: ServingFolder;
let upstream: UpstreamDouble;
let serving: ServingProcess;
let rl: RlClient;
beforeAll(async () => {
  folder = await servingFolder();
  upstream = await upstreamDouble();
  upstream.script((_, response) =>
    sendFrames(response, [deltaFrame({ content: 'hi' }), finishFrame('stop'), usageFrame(40, 10)]),
  );
  serving = await folder.start([
    ...['--engine', 'upstream', '--upstream-url', upstream.url],
    ...['--batch-size', '100'],
  ]);
  rl = rlClient(() => serving.url);
});
afterAll(async () => {
  await folder.dispose();
  await upstream.close();
});

const told = async (session: string) =>
  (await folder.events('conversations')).filter(({ data, type }) =>
    'session' in data
      ? data.session === session
      : type === 'feedback.given' && 'interactionId' in data && data.lane !== undefined,
  );

test('a session is opened, asked, rewarded and ended, and all of it stands in the log', async () => {
  const { session_id, api_key } = await rl.start('demo');
  expect(session_id).toMatch(/^demo-[0-9a-f]{16}$/);
  expect(api_key).toMatch(/^sk-sess-[\w-]{60,}$/);
  const first = await rl.chat(api_key, 'one');
  const second = await rl.chat(api_key, 'two');
  const rewarded = await rl.post('/rl/set_reward', api_key, { reward: 0.5, interaction_id: first });
  expect(rewarded).toMatchObject({
    ...{ status: 200, body: { message: 'success', session_id, interaction_id: first } },
  });
  const last = await rl.post('/rl/set_reward', api_key, { reward: -1, interaction_id: null, advantage: 2 });
  expect(last.body).toEqual({ message: 'success', session_id, interaction_id: second });
  const [open] = (await rl.get('/rl/sessions')).body.data;
  expect(open).toMatchObject({
    ...{ session_id, task_id: 'demo', state: 'open', interaction_count: 2, ended_at: null },
    rewards: [
      { interaction_id: first, reward: 0.5 },
      { interaction_id: second, reward: -1 },
    ],
  });
  const ended = { message: 'success', session_id, interaction_count: 2 };
  expect((await rl.post('/rl/end_session', api_key)).body).toEqual(ended);
  expect((await rl.post('/rl/end_session', api_key)).body).toEqual(ended);
  expect((await told(session_id)).map(({ type }) => type)).toEqual([
    ...['session.started', 'interaction.completed', 'interaction.completed'],
    ...['feedback.given', 'feedback.given', 'session.ended'],
  ]);
  const answers = (await folder.events('conversations')).filter(
    ({ type }) => type === 'interaction.completed',
  );
  expect(answers.map(({ data }) => data)).toMatchObject([
    { settle: 'reward', session: session_id },
    { settle: 'reward', session: session_id },
  ]);
  for (const text of [serving.output(), JSON.stringify(await folder.events('conversations'))])
    expect(text).not.toContain(api_key);
});
