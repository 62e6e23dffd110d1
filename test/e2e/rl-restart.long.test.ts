import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import { SessionEnded } from '../../shared/events/session-ended.ts';
import { until } from './harness/clawloop.ts';
import { type RlClient, rlClient } from './rl-client.ts';
import { scriptForEach } from './serving-on-script.ts';
import { sessionFacts } from './session-facts.ts';

const on = scriptForEach();
const factsOf = (session: string) => sessionFacts(on.folder, session);

test('a SIGKILL between any two steps loses no session, key, answer or reward', async () => {
  let serving = await on.start();
  const rl = rlClient(() => serving.url);
  const killed = async () => {
    process.kill(serving.pid, 'SIGKILL');
    await until('it is gone', () => !serving.isAlive());
    serving = await on.start();
  };
  const { session_id, api_key } = await rl.start('demo');
  await killed();
  const first = await rl.chat(api_key, 'one');
  await killed();
  expect((await rl.post('/rl/set_reward', api_key, { reward: 0.25 })).body.interaction_id).toBe(first);
  const second = await rl.chat(api_key, 'two');
  await killed();
  const [listed] = (await rl.get('/rl/sessions')).body.data;
  expect(listed).toMatchObject({ state: 'open', interaction_count: 2, rewards: [{ reward: 0.25 }] });
  expect((await rl.post('/rl/set_reward', api_key, { reward: 1 })).body.interaction_id).toBe(second);
  const again = await rl.post('/rl/set_reward', api_key, { reward: 0.5, interaction_id: first });
  expect(again.status).toBe(200);
  await killed();
  const ended = { message: 'success', session_id, interaction_count: 2 };
  expect((await rl.post('/rl/end_session', api_key)).body).toEqual(ended);
  await killed();
  expect((await rl.post('/rl/end_session', api_key)).body).toEqual(ended);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 0 })).status).toBe(410);
  const refreshed = await rl.start('again', api_key);
  expect(refreshed.api_key).toBe(api_key);
  await killed();
  const third = await rl.chat(api_key, 'three');
  expect((await rl.post('/rl/set_reward', api_key, { reward: 1 })).body).toEqual({
    message: 'success',
    session_id: refreshed.session_id,
    interaction_id: third,
  });
  // the log may contain a fact twice
  const facts = [...new Map((await factsOf(session_id)).map((fact) => [fact.id, fact.type])).values()];
  expect(facts).toEqual([
    'session.started',
    'interaction.completed',
    'feedback.given',
    'interaction.completed',
    'feedback.given',
    'feedback.given',
    'session.ended',
  ]);
});

test('each replica knows at once what the other recorded, including the session of each key', async () => {
  const [a, b] = await Promise.all([on.start(), on.start()]);
  const [one, two] = [rlClient(() => a.url), rlClient(() => b.url)];
  for (let round = 0; round < 5; round++) {
    const { session_id, api_key } = await one.start('demo');
    const id = await two.chat(api_key);
    expect((await one.post('/rl/set_reward', api_key, { reward: 1 })).body.interaction_id).toBe(id);
    const last = await one.chat(api_key);
    expect((await two.post('/rl/set_reward', api_key, { reward: 1 })).body.interaction_id).toBe(last);
    const after = await two.start('demo', api_key);
    expect(after.api_key).toBe(api_key);
    const next = await one.chat(api_key);
    expect((await two.post('/rl/end_session', api_key)).body).toEqual({
      message: 'success',
      session_id: after.session_id,
      interaction_count: 1,
    });
    expect((await one.post('/rl/set_reward', api_key, { reward: 1 })).status).toBe(410);
    const types = (await factsOf(session_id)).map(({ type }) => type);
    expect(types.filter((type) => type === 'feedback.given')).toHaveLength(2);
    expect(types.at(-1)).toBe('session.ended');
    // the later answer has no reward
    expect((await factsOf(after.session_id)).slice(-2)).toMatchObject([
      { type: 'feedback.given', data: { score: 0, interactionId: next } },
      { type: 'session.ended' },
    ]);
  }
});

test('many concurrent refreshes of one key leave one session open, also on two replicas', async () => {
  const [a, b] = await Promise.all([on.start('--batch-size', '100'), on.start('--batch-size', '100')]);
  const clients = [rlClient(() => a.url), rlClient(() => b.url)] as const;
  const { api_key } = await clients[0].start('first');
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, n) => clients[n % 2]!.start(`task-${n}`, api_key)),
  );
  expect(new Set(all.map(({ session_id }) => session_id)).size).toBe(10);
  const openAt = async ({ get }: RlClient) =>
    (await get('/rl/sessions')).body.data
      .filter(({ state }: { state: string }) => state === 'open')
      .map(({ session_id }: { session_id: string }) => session_id);
  const open = await openAt(clients[0]);
  expect(open).toHaveLength(1);
  expect(await openAt(clients[1])).toEqual(open);
  const id = await clients[0].chat(api_key);
  const facts = await on.folder.events('conversations');
  expect(facts.find((fact) => fact.id === id)!.data).toMatchObject({ session: open[0] });
});

test('a refresh ends the previous session with its reward; without room nothing changes', async () => {
  const serving = await on.start('--batch-size', '1', '--max-staleness', '1');
  const rl = rlClient(() => serving.url);
  const refused = async (key?: string) => {
    const answer = await rl.post('/rl/start_session', undefined, { task_id: 'next', api_key: key });
    expect(answer).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_error' } } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    return answer.body.error.code;
  };
  // room for two versions; a session is assumed to have three answers
  const [one, two] = [await rl.start('one'), await rl.start('two')];
  expect(await refused()).toBe('training_behind');
  // it has no answers, so no sample of it will wait
  const { session_id } = await rl.start('one', one.api_key);
  const before = [await rl.chat(one.api_key), await rl.chat(one.api_key)];
  const after = await rl.chat(one.api_key);
  expect(await refused(one.api_key)).toBe('training_behind');
  expect((await rl.post('/rl/set_reward', one.api_key, { reward: 1 })).body).toEqual({
    message: 'success',
    session_id,
    interaction_id: after,
  });
  await rl.post('/rl/end_session', two.api_key);
  const endsAt = performance.now();
  const next = await rl.start('one', one.api_key);
  const held = await rl.post('/rl/start_session', undefined, { task_id: 'next' });
  // its samples have not arrived yet, and keep their room for three seconds at most
  if (performance.now() - endsAt < 3_000)
    expect(held).toMatchObject({ status: 429, body: { error: { code: 'training_behind' } } });
  expect(next.api_key).toBe(one.api_key);
  const facts = await factsOf(session_id);
  expect(facts.map(({ id }) => id).filter((id) => !id.includes('/reward/'))).toEqual([
    `${session_id}/started`,
    ...before,
    after,
    `${session_id}/ended`,
  ]);
  // waiting samples take the room of a session
  const log = await on.folder.openLog();
  await log.append(['s1', 's2', 's3'].map(waitingSample));
  await until('there is no room', async () => {
    const { status } = await rl.post('/rl/start_session', undefined, { task_id: 'x' });
    return status === 429;
  });
  expect(await refused()).toBe('training_behind');
});

const waitingSample = (sampleId: string) =>
  SampleReady.create({
    id: `${sampleId}/ready`,
    source: 'clawloop/test',
    time: new Date().toISOString(),
    data: {
      sampleId,
      adapter: 'default',
      lane: 'l',
      session: 's',
      epoch: 'e',
      version: 0,
      verdict: 1,
      source: 'votes',
      soft: false,
      hints: [],
      messages: [],
      tokens: {
        promptIds: [1],
        responseIds: [2],
        logProbs: [-1],
        effectiveTemperature: 1,
        greedy: false,
        filters: { topP: 1, topK: 0 },
      },
    },
  });

test('the limit of open sessions also applies after a restart', async () => {
  const flags = ['--max-sessions', '2', '--batch-size', '100'];
  let serving = await on.start(...flags);
  const rl = rlClient(() => serving.url);
  const both = await Promise.all(
    Array.from({ length: 6 }, () => rl.post('/rl/start_session', undefined, { task_id: 't' })),
  );
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429, 429, 429]);
  await serving.stop();
  serving = await on.start(...flags);
  const refused = await rl.post('/rl/start_session', undefined, { task_id: 't' });
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'too_many_sessions' } } });
  await rl.post('/rl/end_session', both.find(({ status }) => status === 200)!.body.api_key);
  await rl.start('t');
});

test('a session that the sweeper ends as idle has ended, and its key can start another one', async () => {
  const serving = await on.start();
  const rl = rlClient(() => serving.url);
  const { session_id, api_key } = await rl.start('demo');
  const last = await rl.chat(api_key);
  const log = await on.folder.openLog();
  const idle = (seen: string, n: number) => {
    const { key, lane } = { key: 'local', lane: /^chatcmpl-(\w+)-/.exec(last)![1]! };
    return SessionEnded.create({
      id: `idle/${n}`,
      source: 'clawloop/collector',
      time: new Date().toISOString(),
      data: { lane, key, session: session_id, reason: 'idle', epoch: `${session_id}/started`, last: seen },
    });
  };
  await log.append([idle(`${session_id}/started`, 1)]); // outdated: it saw no answer
  expect((await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id: last })).status).toBe(200);
  const reward = (await factsOf(session_id)).findLast(({ type }) => type === 'feedback.given')!;
  await log.append([idle(reward.id, 2)]);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 1 })).status).toBe(410);
  const [shown] = (await rl.get('/rl/sessions')).body.data;
  expect(shown).toMatchObject({ state: 'ended', end_reason: 'idle', interaction_count: 1 });
  expect((await rl.start('demo', api_key)).session_id).not.toBe(session_id);
});

test('replicas without a common folder share the secret of the settings; a key with another secret is invalid', async () => {
  const secret = ['--session-secret', 'the same on all replicas'];
  const a = await on.start(...secret);
  const { api_key } = await rlClient(() => a.url).start('demo');
  await rm(on.folder.data.sessionSecret, { force: true });
  const b = await on.start(...secret);
  expect(await rlClient(() => b.url).chat(api_key)).toMatch(/^chatcmpl-/);
  expect(b.output()).not.toContain('the same on all replicas');
  const c = await on.start();
  expect((await rlClient(() => c.url).post('/rl/end_session', api_key)).status).toBe(401);
});

test('while the log is unavailable a session continues, its rewards wait, and none is opened', async () => {
  const serving = await on.start('--append-timeout-ms', '100');
  const rl = rlClient(() => serving.url);
  const { session_id, api_key } = await rl.start('demo');
  await until('the start is recorded', async () =>
    (await on.folder.events('training')).some(({ type }) => type === 'policy.loaded'),
  );
  const lock = new DatabaseSync(join(on.folder.data.log, 'log.sqlite'), { timeout: 5_000 });
  lock.exec('BEGIN IMMEDIATE');
  const id = await rl.chat(api_key);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 0.5 })).body.interaction_id).toBe(id);
  const refused = await rl.post('/rl/start_session', undefined, { task_id: 'x' });
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'not_recorded' } } });
  expect(refused.headers.get('retry-after')).toBe('5');
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(1);
  expect((await rl.post('/chat/completions', api_key, {})).status).toBe(400);
  lock.exec('ROLLBACK');
  lock.close();
  await until('everything is in the log', async () => {
    const types = new Map((await factsOf(session_id)).map((fact) => [fact.id, fact.type]));
    return [...types.values()].at(-1) === 'session.ended' ? types : undefined;
  });
  const order = [...new Set((await factsOf(session_id)).map(({ type }) => type))];
  expect(order).toEqual(['session.started', 'interaction.completed', 'feedback.given', 'session.ended']);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 0 })).status).toBe(410);
});
