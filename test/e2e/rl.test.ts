import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clawloop } from './harness/clawloop.ts';
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

const answerHi: Parameters<UpstreamDouble['script']>[0] = (_, response) =>
  sendFrames(response, [deltaFrame({ content: 'hi' }), finishFrame('stop'), usageFrame(40, 10)]);

let folder: ServingFolder;
let upstream: UpstreamDouble;
let serving: ServingProcess;
let rl: RlClient;
beforeAll(async () => {
  folder = await servingFolder();
  upstream = await upstreamDouble();
  upstream.script(answerHi);
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
  const given = (await told(session_id)).filter(({ type }) => type === 'feedback.given');
  expect(given.map(({ data }) => 'last' in data && data.last)).toEqual([false, true]);
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

test('health is open to all, and the port of the protocol says what it takes', async () => {
  expect(await rl.get('/health')).toMatchObject({ status: 200, body: { status: 'ok' } });
  const wrong = await rl.get('/rl/start_session');
  expect(wrong).toMatchObject({ status: 405, body: { error: { code: 'method_not_allowed' } } });
});

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
])('a reward that is none is refused by its name: %s', async (_, body) => {
  const { api_key } = await rl.start('demo');
  await rl.chat(api_key);
  const refused = await rl.post('/rl/set_reward', api_key, body);
  expect(refused).toMatchObject({ status: 400, body: { error: { param: 'reward' } } });
  expect(refused.body.error.message).toContain('reward');
  await rl.post('/rl/end_session', api_key, { discard: true });
});

test('an advantage is finite, a task is named, a body is JSON', async () => {
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
    ...{ status: 400, body: { error: { code: 'invalid_json' } } },
  });
  for (const task_id of [undefined, 7, '', 'x'.repeat(257), 'a\nb', 'a\ud800'])
    expect(await rl.post('/rl/start_session', undefined, { task_id })).toMatchObject({
      ...{ status: 400, body: { error: { param: 'task_id' } } },
    });
  await rl.post('/rl/end_session', api_key);
});

test('a reward is for an answer of the session; before the first one there is none', async () => {
  const [mine, other] = [await rl.start('a'), await rl.start('b')];
  const none = await rl.post('/rl/set_reward', mine.api_key, { reward: 1 });
  expect(none).toMatchObject({ status: 400, body: { error: { code: 'nothing_to_reward' } } });
  const foreign = await rl.chat(other.api_key);
  await rl.chat(mine.api_key);
  for (const interaction_id of [foreign, 'chatcmpl-none', foreign.replace(/.$/, '0')])
    expect(await rl.post('/rl/set_reward', mine.api_key, { reward: 1, interaction_id })).toMatchObject({
      ...{ status: 400, body: { error: { code: 'interaction_not_found', param: 'interaction_id' } } },
    });
  for (const { api_key } of [mine, other]) await rl.post('/rl/end_session', api_key);
});

test('a session that ends without any reward has earned 0 with its last answer; one without answers, or taken back, nothing', async () => {
  const [plain, empty, discarded] = [await rl.start('a'), await rl.start('b'), await rl.start('c')];
  await rl.chat(plain.api_key);
  const last = await rl.chat(plain.api_key);
  await rl.chat(discarded.api_key);
  await rl.post('/rl/end_session', plain.api_key);
  expect((await rl.post('/rl/end_session', empty.api_key, '')).body.interaction_count).toBe(0);
  await rl.post('/rl/end_session', discarded.api_key, { discard: true });
  const facts = await folder.events('conversations');
  const given = (id: string) => facts.filter(({ id: one }) => one.startsWith(`${id}/reward`));
  expect(given(plain.session_id)).toMatchObject([{ data: { interactionId: last, score: 0 } }]);
  expect([given(empty.session_id), given(discarded.session_id)]).toEqual([[], []]);
  const order = facts.map(({ id }) => id).filter((id) => id.startsWith(plain.session_id));
  expect(order.slice(-2)).toEqual([`${plain.session_id}/reward/none`, `${plain.session_id}/ended`]);
  expect(facts.find(({ id }) => id === `${discarded.session_id}/ended`)).toMatchObject({
    data: { discard: true, interactions: 1 },
  });
});

const apis = [
  ['/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, 'bearer'],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, 'bearer'],
  ['/responses', { input: 'hi' }, 'bearer'],
  ['/v1/responses', { input: 'hi' }, 'bearer'],
  ['/messages', { max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }, 'x-api-key'],
  ['/v1/messages', { max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }, 'x-api-key'],
] as const;

test.each(apis)(
  '%s answers under a session key, and says 410 after the end, streamed too',
  async (path, body, how) => {
    const { api_key, session_id } = await rl.start('demo');
    const ask = (key: string, stream: boolean) =>
      how === 'bearer'
        ? rl.post(path, key, { model: 'clawloop', ...body, stream })
        : rl.post(path, undefined, { model: 'clawloop', ...body, stream }, { 'x-api-key': key });
    const answer = await ask(api_key, false);
    expect(answer.status).toBe(200);
    const streamed = await ask(api_key, true);
    expect(streamed.headers.get('content-type')).toContain('text/event-stream');
    const id = answer.body.id;
    const rewarded = await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id: id });
    expect(rewarded.body).toEqual({ message: 'success', session_id, interaction_id: id });
    expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(2);
    for (const stream of [false, true]) {
      const gone = await ask(api_key, stream);
      expect(gone.status).toBe(410);
      expect(gone.body.error.message).toContain('has ended');
      expect(gone.body.error.type).toBe('invalid_request_error');
      if (how === 'x-api-key') expect(gone.body.type).toBe('error');
      else expect(gone.body.error.code).toBe('session_ended');
      const forged = await ask(api_key.replace(/.{3}$/, 'AAA'), stream);
      expect(forged.status).toBe(401);
      expect(forged.body.error.type).toBe('authentication_error');
    }
    expect(await rl.post('/rl/set_reward', api_key, { reward: 1 })).toMatchObject({ status: 410 });
  },
);

test('the official clients speak under a session key, at the bare address; what they streamed is rewarded by its id', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const openai = new OpenAI({ baseURL: serving.url, apiKey: api_key });
  const anthropic = new Anthropic({ baseURL: serving.url, apiKey: api_key });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const ids: string[] = [];
  for await (const chunk of await openai.chat.completions.create({ model: 'm', messages, stream: true }))
    ids[0] = chunk.id;
  for await (const event of await openai.responses.create({ model: 'm', input: 'hi', stream: true }))
    if (event.type === 'response.completed') ids[1] = event.response.id;
  for await (const event of anthropic.messages.stream({ model: 'm', max_tokens: 9, messages }))
    if (event.type === 'message_start') ids[2] = event.message.id;
  for (const interaction_id of ids)
    expect((await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id })).body).toEqual({
      ...{ message: 'success', session_id, interaction_id },
    });
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(3);
  const gone = { status: 410 };
  await expect(openai.chat.completions.create({ model: 'm', messages, stream: true })).rejects.toMatchObject(
    gone,
  );
  await expect(openai.responses.create({ model: 'm', input: 'hi' })).rejects.toMatchObject(gone);
  await expect(anthropic.messages.create({ model: 'm', max_tokens: 9, messages })).rejects.toMatchObject(
    gone,
  );
});

test('a session key opens no session and sees none; what is no session key ends and rewards none', async () => {
  const { api_key } = await rl.start('demo');
  for (const refused of [
    await rl.post('/rl/start_session', api_key, { task_id: 'x' }),
    await rl.get('/rl/sessions', api_key),
  ])
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'not_for_session_keys' } } });
  for (const key of [undefined, 'something', 'sk-sess-something'])
    for (const path of ['/rl/set_reward', '/rl/end_session'])
      expect((await rl.post(path, key, { reward: 1 })).status).toBe(401);
  await rl.post('/rl/end_session', api_key);
});

test('the key alone says which session it is; the turn type is still told', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const body = { model: 'clawloop', user: 'somebody', messages: [{ role: 'user', content: 'hi' }] };
  const headers = { 'x-session-id': 'another', 'x-turn-type': 'side' };
  const { body: answer } = await rl.post('/v1/chat/completions', api_key, body, headers);
  const fact = (await folder.events('conversations')).find(({ id }) => id === answer.id)!;
  expect(fact.data).toMatchObject({ session: session_id, turnType: 'side', settle: 'reward' });
  expect(fact.data).not.toHaveProperty('user');
  const feedback = (completion_id: string) => rl.post('/v1/feedback', api_key, { completion_id, reward: 1 });
  expect((await feedback(answer.id)).status).toBe(200);
  const elsewhere = await rl.start('other');
  const foreign = await rl.chat(elsewhere.api_key);
  expect((await feedback(foreign)).status).toBe(404);
  const goesOn = { model: 'clawloop', input: 'and then?', previous_response_id: foreign };
  expect((await rl.post('/v1/responses', api_key, goesOn)).status).toBe(400);
  // of another session of the client's own, it ends nothing here
  expect((await rl.post('/v1/sessions/end', api_key, { session: 'another' })).status).toBe(202);
  const done = { 'x-session-id': 'another', 'x-session-done': 'true' };
  expect((await rl.post('/v1/chat/completions', api_key, body, done)).status).toBe(200);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id: answer.id })).status).toBe(
    200,
  );
  expect((await rl.post('/v1/sessions/end', api_key)).body.session).toBe(session_id);
  expect(await rl.post('/rl/set_reward', api_key, { reward: 1 })).toMatchObject({ status: 410 });
  // by the name of the session, under the key that opened it
  expect((await rl.post('/v1/sessions/end', undefined, { session: elsewhere.session_id })).status).toBe(202);
  expect(await rl.post('/rl/end_session', elsewhere.api_key)).toMatchObject({
    ...{ status: 200, body: { interaction_count: 1 } },
  });
});

test('X-Session-Done ends the session with its answer, which has earned 0 unless a reward came', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const body = { model: 'clawloop', messages: [{ role: 'user', content: 'bye' }] };
  const { body: answer } = await rl.post('/chat/completions', api_key, body, { 'x-session-done': 'true' });
  const facts = (await folder.events('conversations')).filter(({ id }) => id.startsWith(`${session_id}/`));
  expect(facts.slice(-2)).toMatchObject([
    { data: { interactionId: answer.id, score: 0 } },
    { type: 'session.ended', data: { reason: 'explicit', interactions: 1 } },
  ]);
  expect(await rl.post('/chat/completions', api_key, body)).toMatchObject({ status: 410 });
});

test('an answer that is still on its way when its session ends is told whole, and is none of the session', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const first = await rl.chat(api_key);
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  upstream.script(async (_, response) => {
    asked.resolve();
    await gate.promise;
    sendFrames(response, [deltaFrame({ content: 'late' }), finishFrame('stop'), usageFrame(4, 1)]);
  });
  const late = rl.chat(api_key);
  await asked.promise;
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(1);
  upstream.script(answerHi);
  gate.resolve();
  const id = await late;
  const facts = (await folder.events('conversations')).filter(
    ({ data }) => 'session' in data && data.session === session_id,
  );
  expect(facts.map((fact) => fact.id)).toEqual([
    ...[`${session_id}/started`, first, `${session_id}/ended`, id],
  ]);
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(1);
});

test('who opened a session and lost its key ends it by its name', async () => {
  const { session_id, api_key } = await rl.start('lost');
  await rl.chat(api_key);
  const byName = { session_id, discard: true };
  expect(await rl.post('/rl/end_session', api_key, byName)).toMatchObject({
    ...{ status: 403, body: { error: { code: 'not_for_session_keys' } } },
  });
  const next = await rl.start('next', api_key); // has ended the one before; its key speaks for the next one
  expect(await rl.post('/rl/end_session', undefined, byName)).toMatchObject({
    ...{ status: 200, body: { session_id, interaction_count: 1 } },
  });
  expect(await rl.chat(api_key)).toMatch(/^chatcmpl-/);
  const named = { session_id: next.session_id, discard: true };
  for (const _ of [1, 2])
    expect(await rl.post('/rl/end_session', undefined, named)).toMatchObject({
      ...{ status: 200, body: { session_id: next.session_id, interaction_count: 1 } },
    });
  const discarded = { session: next.session_id, discard: true };
  expect(await told(next.session_id)).toContainEqual(
    expect.objectContaining({ type: 'session.ended', data: expect.objectContaining(discarded) }),
  );
  expect(await rl.post('/rl/end_session', undefined, { session_id: 'nobody' })).toMatchObject({
    ...{ status: 404, body: { error: { code: 'session_not_found', param: 'session_id' } } },
  });
});

test('nothing is seen across access keys, and the keys of sessions go with the access key that opened them', async () => {
  const local = await rl.start('keyless');
  const keys = (...argv: readonly string[]) => clawloop(['keys', ...argv, '--data-folder', folder.data.root]);
  const create = async (name: string) => {
    const { stdout } = await keys('create', name);
    return { secret: stdout.split('\n')[0]!, id: /under the id (key-\w+)/.exec(stdout)![1]! };
  };
  const [ann, bob] = [await create('ann'), await create('bob')];
  expect((await rl.post('/rl/end_session', local.api_key)).status).toBe(401);
  expect((await rl.post('/rl/start_session', undefined, { task_id: 'x' })).status).toBe(401);
  expect((await rl.get('/health')).status).toBe(200);
  const session = await rl.start('of-ann', undefined, ann.secret);
  const listed = async (key: string) =>
    (await rl.get('/rl/sessions', key)).body.data.map((one: { session_id: string }) => one.session_id);
  expect(await listed(ann.secret)).toEqual([session.session_id]);
  expect(await listed(bob.secret)).toEqual([]);
  for (const [key, api_key] of [
    [bob.secret, session.api_key],
    [ann.secret, ann.secret],
    [ann.secret, 'sk-sess-none'],
    [ann.secret, local.api_key],
  ])
    expect(await rl.post('/rl/start_session', key, { task_id: 'x', api_key })).toMatchObject({
      ...{ status: 400, body: { error: { code: 'unknown_session_key', param: 'api_key' } } },
    });
  expect(await rl.post('/rl/set_reward', ann.secret, { reward: 1 })).toMatchObject({ status: 401 });
  expect(await rl.chat(session.api_key)).toMatch(/^chatcmpl-/);
  await keys('remove', ann.id);
  expect((await rl.post('/rl/end_session', session.api_key)).status).toBe(401);
});
