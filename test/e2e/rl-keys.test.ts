import { expect, test } from 'vitest';
import { clawloop } from './harness/clawloop.ts';
import { rlClient } from './rl-client.ts';
import { servingOnScript } from './serving-on-script.ts';

const on = servingOnScript(['--batch-size', '100']);
const rl = rlClient(() => on.serving.url);

test('a session key can neither open nor list sessions; only a valid session key can reward or end one', async () => {
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

test('the key alone determines the session; the turn type is still declared', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const body = { model: 'clawloop', user: 'somebody', messages: [{ role: 'user', content: 'hi' }] };
  const headers = { 'x-session-id': 'another', 'x-turn-type': 'side' };
  const { body: answer } = await rl.post('/v1/chat/completions', api_key, body, headers);
  const fact = (await on.folder.events('conversations')).find(({ id }) => id === answer.id)!;
  expect(fact.data).toMatchObject({ session: session_id, turnType: 'side', settle: 'reward' });
  expect(fact.data).not.toHaveProperty('user');
  const feedback = (completion_id: string) => rl.post('/v1/feedback', api_key, { completion_id, reward: 1 });
  expect((await feedback(answer.id)).status).toBe(200);
  const elsewhere = await rl.start('other');
  const foreign = await rl.chat(elsewhere.api_key);
  expect((await feedback(foreign)).status).toBe(404);
  const goesOn = { model: 'clawloop', input: 'and then?', previous_response_id: foreign };
  expect((await rl.post('/v1/responses', api_key, goesOn)).status).toBe(400);
  // a header for another session of the client has no effect here
  expect((await rl.post('/v1/sessions/end', api_key, { session: 'another' })).status).toBe(404);
  const done = { 'x-session-id': 'another', 'x-session-done': 'true' };
  expect((await rl.post('/v1/chat/completions', api_key, body, done)).status).toBe(200);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id: answer.id })).status).toBe(
    200,
  );
  expect((await rl.post('/v1/sessions/end', api_key)).body.session).toBe(session_id);
  expect(await rl.post('/rl/set_reward', api_key, { reward: 1 })).toMatchObject({ status: 410 });
  // by the name of the session, with the key that opened it
  const named = { session: elsewhere.session_id };
  expect((await rl.post('/v1/sessions/end', undefined, named)).status).toBe(202);
  expect((await rl.post('/v1/sessions/end', undefined, named)).status).toBe(404);
  expect(await rl.post('/rl/end_session', elsewhere.api_key)).toMatchObject({
    status: 200,
    body: { interaction_count: 1 },
  });
});

test('access keys are isolated, and a session key becomes invalid with the access key that opened it', async () => {
  const local = await rl.start('keyless');
  const keys = (...argv: readonly string[]) =>
    clawloop(['keys', ...argv, '--data-folder', on.folder.data.root]);
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
      status: 400,
      body: { error: { code: 'unknown_session_key', param: 'api_key' } },
    });
  expect(await rl.post('/rl/set_reward', ann.secret, { reward: 1 })).toMatchObject({ status: 401 });
  expect(await rl.chat(session.api_key)).toMatch(/^chatcmpl-/);
  await keys('remove', ann.id);
  expect((await rl.post('/rl/end_session', session.api_key)).status).toBe(401);
});
