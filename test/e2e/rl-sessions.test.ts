import { expect, test } from 'vitest';
import { rlClient } from './rl-client.ts';
import { saysHi, servingOnScript } from './serving-on-script.ts';
import { sessionFacts } from './session-facts.ts';

const on = servingOnScript(['--batch-size', '100']);
const rl = rlClient(() => on.serving.url);

test('start, chat, rewards and end of a session are in the log', async () => {
  const { session_id, api_key } = await rl.start('demo');
  expect(session_id).toMatch(/^demo-[0-9a-f]{16}$/);
  expect(api_key).toMatch(/^sk-sess-[\w-]{60,}$/);
  const first = await rl.chat(api_key, 'one');
  const second = await rl.chat(api_key, 'two');
  const rewarded = await rl.post('/rl/set_reward', api_key, { reward: 0.5, interaction_id: first });
  expect(rewarded).toMatchObject({
    status: 200,
    body: { message: 'success', session_id, interaction_id: first },
  });
  const last = await rl.post('/rl/set_reward', api_key, { reward: -1, interaction_id: null, advantage: 2 });
  expect(last.body).toEqual({ message: 'success', session_id, interaction_id: second });
  const [open] = (await rl.get('/rl/sessions')).body.data;
  expect(open).toMatchObject({
    session_id,
    task_id: 'demo',
    state: 'open',
    interaction_count: 2,
    ended_at: null,
    rewards: [
      { interaction_id: first, reward: 0.5 },
      { interaction_id: second, reward: -1 },
    ],
  });
  const ended = { message: 'success', session_id, interaction_count: 2 };
  expect((await rl.post('/rl/end_session', api_key)).body).toEqual(ended);
  expect((await rl.post('/rl/end_session', api_key)).body).toEqual(ended);
  const facts = await sessionFacts(on.folder, session_id);
  expect(facts.map(({ type }) => type)).toEqual([
    'session.started',
    'interaction.completed',
    'interaction.completed',
    'feedback.given',
    'feedback.given',
    'session.ended',
  ]);
  const given = facts.filter(({ type }) => type === 'feedback.given');
  expect(given.map(({ data }) => 'last' in data && data.last)).toEqual([false, true]);
  const answers = facts.filter(({ type }) => type === 'interaction.completed');
  expect(answers.map(({ data }) => data)).toMatchObject([
    { settle: 'reward', session: session_id },
    { settle: 'reward', session: session_id },
  ]);
  for (const text of [on.serving.output(), JSON.stringify(await on.folder.events('conversations'))])
    expect(text).not.toContain(api_key);
});

test('X-Session-Done ends the session with its answer, whose reward is 0 by default', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const body = { model: 'clawloop', messages: [{ role: 'user', content: 'bye' }] };
  const { body: answer } = await rl.post('/chat/completions', api_key, body, { 'x-session-done': 'true' });
  const facts = await sessionFacts(on.folder, session_id);
  expect(facts.slice(-2)).toMatchObject([
    { data: { interactionId: answer.id, score: 0 } },
    { type: 'session.ended', data: { reason: 'explicit', interactions: 1 } },
  ]);
  expect(await rl.post('/chat/completions', api_key, body)).toMatchObject({ status: 410 });
});

test('an answer in progress when its session ends is sent whole, but does not belong to the session', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const first = await rl.chat(api_key);
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  on.upstream.script(async (call, response) => {
    asked.resolve();
    await gate.promise;
    saysHi(call, response);
  });
  const late = rl.chat(api_key);
  await asked.promise;
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(1);
  gate.resolve();
  const id = await late;
  const facts = await sessionFacts(on.folder, session_id);
  expect(facts.map((fact) => fact.id)).toEqual([
    `${session_id}/started`,
    first,
    `${session_id}/reward/none`,
    `${session_id}/ended`,
    id,
  ]);
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(1);
});

test('a client that lost a session key can end the session by its name', async () => {
  const { session_id, api_key } = await rl.start('lost');
  await rl.chat(api_key);
  const byName = { session_id, discard: true };
  expect(await rl.post('/rl/end_session', api_key, byName)).toMatchObject({
    status: 403,
    body: { error: { code: 'not_for_session_keys' } },
  });
  const next = await rl.start('next', api_key); // this ended the previous session; the key now belongs to the next one
  expect(await rl.post('/rl/end_session', undefined, byName)).toMatchObject({
    status: 200,
    body: { session_id, interaction_count: 1 },
  });
  expect(await rl.chat(api_key)).toMatch(/^chatcmpl-/);
  const named = { session_id: next.session_id, discard: true };
  for (const _ of [1, 2])
    expect(await rl.post('/rl/end_session', undefined, named)).toMatchObject({
      status: 200,
      body: { session_id: next.session_id, interaction_count: 1 },
    });
  const discarded = { session: next.session_id, discard: true };
  expect(await sessionFacts(on.folder, next.session_id)).toContainEqual(
    expect.objectContaining({ type: 'session.ended', data: expect.objectContaining(discarded) }),
  );
  expect(await rl.post('/rl/end_session', undefined, { session_id: 'nobody' })).toMatchObject({
    status: 404,
    body: { error: { code: 'session_not_found', param: 'session_id' } },
  });
});
