import { expect, test } from 'vitest';
import { rlClient } from './rl-client.ts';
import { servingOnScript } from './serving-on-script.ts';

const on = servingOnScript(['--batch-size', '100']);
const rl = rlClient(() => on.serving.url);

test.each([
  ['not a number', { reward: '0.5' }],
  ['a boolean', { reward: true }],
  ['null', { reward: null }],
  ['missing', {}],
  ['too large', { reward: 1.01 }],
  ['too small', { reward: -2 }],
  ['infinity as a large number', '{"reward": 1e999}'],
  ['NaN as Python writes it', '{"reward": NaN}'],
  ['infinity as Python writes it', '{"interaction_id": null, "reward":-Infinity}'],
])('an invalid reward is refused by the name of its field: %s', async (_, body) => {
  const { api_key } = await rl.start('demo');
  await rl.chat(api_key);
  const refused = await rl.post('/rl/set_reward', api_key, body);
  expect(refused).toMatchObject({ status: 400, body: { error: { param: 'reward' } } });
  expect(refused.body.error.message).toContain('reward');
  await rl.post('/rl/end_session', api_key, { discard: true });
});

test('advantages that are not finite, tasks without a name and bodies that are not JSON are refused', async () => {
  const { api_key } = await rl.start('demo');
  await rl.chat(api_key);
  for (const advantage of ['1', 'NaN', '1e999', '-1e308'])
    expect(
      await rl.post(
        '/rl/set_reward',
        api_key,
        `{"reward": 1, "advantage": ${advantage === '1' ? '"1"' : advantage}}`,
      ),
    ).toMatchObject({ status: 400, body: { error: { param: 'advantage' } } });
  expect(await rl.post('/rl/set_reward', api_key, '{"reward": ')).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_json' } },
  });
  for (const task_id of [undefined, 7, '', 'x'.repeat(257), 'a\nb', 'a\ud800'])
    expect(await rl.post('/rl/start_session', undefined, { task_id })).toMatchObject({
      status: 400,
      body: { error: { param: 'task_id' } },
    });
  await rl.post('/rl/end_session', api_key);
});

test('a reward needs an answer of the session, so there is none before the first answer', async () => {
  const [mine, other] = [await rl.start('a'), await rl.start('b')];
  const none = await rl.post('/rl/set_reward', mine.api_key, { reward: 1 });
  expect(none).toMatchObject({ status: 400, body: { error: { code: 'nothing_to_reward' } } });
  const foreign = await rl.chat(other.api_key);
  await rl.chat(mine.api_key);
  for (const interaction_id of [foreign, 'chatcmpl-none', foreign.replace(/.$/, '0')])
    expect(await rl.post('/rl/set_reward', mine.api_key, { reward: 1, interaction_id })).toMatchObject({
      status: 400,
      body: { error: { code: 'interaction_not_found', param: 'interaction_id' } },
    });
  for (const { api_key } of [mine, other]) await rl.post('/rl/end_session', api_key);
});

test('a session that ends without a reward gives its last answer 0; an empty or discarded session has no reward', async () => {
  const [plain, empty, discarded] = [await rl.start('a'), await rl.start('b'), await rl.start('c')];
  await rl.chat(plain.api_key);
  const last = await rl.chat(plain.api_key);
  await rl.chat(discarded.api_key);
  await rl.post('/rl/end_session', plain.api_key);
  expect((await rl.post('/rl/end_session', empty.api_key, '')).body.interaction_count).toBe(0);
  await rl.post('/rl/end_session', discarded.api_key, { discard: true });
  const facts = await on.folder.events('conversations');
  const given = (id: string) => facts.filter(({ id: one }) => one.startsWith(`${id}/reward`));
  expect(given(plain.session_id)).toMatchObject([{ data: { interactionId: last, score: 0 } }]);
  expect([given(empty.session_id), given(discarded.session_id)]).toEqual([[], []]);
  const order = facts.map(({ id }) => id).filter((id) => id.startsWith(plain.session_id));
  expect(order.slice(-2)).toEqual([`${plain.session_id}/reward/none`, `${plain.session_id}/ended`]);
  expect(facts.find(({ id }) => id === `${discarded.session_id}/ended`)).toMatchObject({
    data: { discard: true, interactions: 1 },
  });
});

test('steps are listed with their place; a comparison names steps of the session and is in the log whole', async () => {
  const body = { task_id: 'maze', process: { votes: 3, weight: 0.3 }, weigh: 'attempt' };
  const { api_key, session_id } = (await rl.post('/rl/start_session', undefined, body)).body;
  const first = await rl.chat(api_key);
  const second = await rl.chat(api_key, 'another');
  const listed = await rl.get('/rl/steps', api_key);
  expect(listed).toMatchObject({ status: 200, body: { session_id, process: body.process } });
  const step = { continues: null, observed: [expect.any(String)], reward: null, votes: 'none', score: 0 };
  expect(listed.body.steps).toEqual([
    { interaction_id: first, ...step },
    { interaction_id: second, ...step },
  ]);
  expect(listed.body.steps[0].observed).not.toEqual(listed.body.steps[1].observed);

  const compare = (steps: unknown) => rl.post('/rl/set_reward', api_key, { reward: 1, advantage: 1, steps });
  for (const steps of [
    'all',
    [{ interaction_id: first, process: { baseline: 2 } }],
    [{ interaction_id: first, process: { baseline: 0, scale: 0 } }],
    [{ interaction_id: first, advantage: '1' }],
    [{ advantage: 1 }],
  ])
    expect(await compare(steps)).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
  expect(await compare([{ interaction_id: 'chatcmpl-none' }])).toMatchObject({
    status: 400,
    body: { error: { code: 'interaction_not_found', param: 'steps' } },
  });
  const steps = [{ interaction_id: first, advantage: 0.5, process: { baseline: 0.1 } }];
  expect((await compare(steps)).status).toBe(200);
  const facts = await on.folder.events('conversations');
  expect(facts.find(({ id }) => id === `${session_id}/started`)!.data).toMatchObject({
    process: body.process,
    weigh: 'attempt',
  });
  expect(facts.findLast(({ id }) => id.startsWith(`${session_id}/reward`))!.data).toMatchObject({
    interactionId: second,
    steps: [{ interactionId: first, advantage: 0.5, process: { baseline: 0.1, scale: 1 } }],
  });
  await rl.post('/rl/end_session', api_key);
  expect((await rl.get('/rl/steps', api_key)).status).toBe(410);
  expect((await rl.get('/rl/steps')).status).toBe(401);
  for (const wrong of [{ process: { votes: 0, weight: 1 } }, { process: { votes: 1 } }, { weigh: 'turn' }])
    expect((await rl.post('/rl/start_session', undefined, { task_id: 'maze', ...wrong })).status).toBe(400);
});
