import { afterAll, beforeAll, expect, test } from 'vitest';
import { SESSION_TIMEOUT_MS } from '../../test/tinker-fakes/fake-sessions.ts';
import { type TinkerFake, tinkerFake } from '../../test/tinker-fakes/tinker-fake.ts';
import { openTrainingServer, type TrainingServerSettings } from './open-training-server.ts';
import type { ServerSequence } from './training-server.ts';

let fake: TinkerFake;
beforeAll(async () => {
  fake = await tinkerFake({ mostModels: 2 });
});
afterAll(() => fake.stop());

const open = (changes: Partial<TrainingServerSettings> = {}) =>
  openTrainingServer({
    url: `${fake.url}/`,
    apiKey: 'tml-test',
    dialect: 'skyrl-jax',
    model: 'tiny',
    vocabularySize: 1216,
    ...changes,
  });
const live = () => new AbortController().signal;
const sequences: readonly ServerSequence[] = [{ promptIds: [5, 17], responseIds: [31, 8, 77] }];

test('a session says what it is for, beats until it is closed, and takes its models with it', async () => {
  const session = await open({ heartbeatMs: 5 }).openSession({ batch: 'b7', attempt: '2' }, live());
  const known = fake.sessions.get(session.id)!;
  expect(known.metadata).toEqual({ batch: 'b7', attempt: '2' });
  await session.createModel({ rank: 2, seed: 1 });
  await expect.poll(() => known.beats).toBeGreaterThan(2);
  await session.close();
  expect(fake.models().length).toBe(0);
});

test('the models of a killed client go, and those of a client that beats stay', async () => {
  // no second heartbeat, as from a killed client
  const killed = await open({ heartbeatMs: 2 ** 30 }).openSession({}, live());
  expect(fake.sessions.get(killed.id)!.beats).toBe(1);
  await killed.createModel({ rank: 2, seed: 1 });
  const living = await open({ heartbeatMs: 5 }).openSession({}, live());
  const kept = await living.createModel({ rank: 2, seed: 2 });
  const known = fake.sessions.get(living.id)!;
  for (let half = 0; half < 2; half++) {
    expect(fake.models()).toHaveLength(2);
    await fake.sessions.elapse(0.6 * SESSION_TIMEOUT_MS);
    const { beats } = known;
    await expect.poll(() => known.beats).toBeGreaterThan(beats);
  }
  expect(fake.models().map(({ id }) => id)).toEqual([kept.id]);
  for (const session of [killed, living]) await session.close();
});

test('a full server is named, and has room again after an unload', async () => {
  const session = await open().openSession({}, live());
  const [first] = [
    await session.createModel({ rank: 2, seed: 1 }),
    await session.createModel({ rank: 2, seed: 2 }),
  ];
  await expect(session.createModel({ rank: 2, seed: 3 })).rejects.toMatchObject({
    code: 'too_many_adapters',
    message: expect.stringContaining('max_lora_adapters'),
  });
  await first.unload();
  await first.unload();
  await session.createModel({ rank: 2, seed: 4 });
  await session.close();
});

test('a model whose creation is cut off does not stay on the server', async () => {
  const stop = new AbortController();
  const session = await open().openSession({}, stop.signal);
  fake.fault({ kind: 'hold', at: '/create_model' });
  const created = session.createModel({ rank: 2, seed: 1 });
  await expect.poll(() => fake.requests.at(-1)!.path).toMatch(/retrieve_future/);
  stop.abort(new Error('stopped'));
  await expect(created).rejects.toThrow('stopped');
  fake.release();
  await session.close();
  expect(fake.models().length).toBe(0);
});

test('bad settings and requests are refused before they are sent', async () => {
  const session = await open().openSession({}, live());
  const model = await session.createModel({ rank: 2, seed: 1 });
  const sent = fake.requests.filter(({ path }) => !path.endsWith('heartbeat')).length;
  const current = [[-1, -1, -1]];
  const context = { current, sequencesUntilStep: 1 };
  const adam = { learningRate: 1, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, gradientClip: undefined };
  const refused: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['malformed', () => session.createModel({ rank: 0, seed: 1 })],
    ['alpha 16', () => session.createModel({ rank: 2, seed: 1, alpha: 16 })],
    ['token 1216', () => model.forward([{ promptIds: [1216], responseIds: [1] }])],
    ['no sequence', () => model.forward([])],
    ['contains NaN', () => model.addGradient(sequences, { sampled: [[1, Number.NaN, 1]] }, context)],
    ['2 values', () => model.addGradient(sequences, { sampled: [[1, 2]] }, context)],
    [
      'current',
      () => model.addGradient(sequences, { sampled: [[1, 2, 3]] }, { ...context, current: [[-1]] }),
    ],
    [
      '0 until',
      () => model.addGradient(sequences, { sampled: [[1, 2, 3]] }, { current, sequencesUntilStep: 0 }),
    ],
    ['epsilon is NaN', () => model.optimizerStep({ ...adam, epsilon: Number.NaN })],
    ['clipping', () => model.optimizerStep({ ...adam, gradientClip: 1 })],
    ['several targets', () => model.forwardCandidates(sequences, { count: 1, ids: [undefined] })],
    ['likely tokens', () => model.topTokens(sequences, 4)],
    ["'a/b' is no name", () => model.saveState('a/b')],
  ];
  for (const [message, call] of refused) await expect(call()).rejects.toThrow(message);
  expect(fake.requests.filter(({ path }) => !path.endsWith('heartbeat')).length).toBe(sent);
  await model.forward(sequences); // the model is as good as before
  await expect(model.loadState('tinker://m/weights/s')).rejects.toThrow('first request');
  const hosted = open({ dialect: 'tinker' });
  const other = await hosted.openSession({}, live());
  await expect(other.createModel({ rank: 12, seed: 1 })).rejects.toMatchObject({
    code: 'rank_not_power_of_two',
  });
  for (const one of [session, other]) await one.close();
});

test('tokens are counted by kind, and a spent budget ends before anything is sent', async () => {
  const server = open({ budgetTokens: 25, usedTokens: 5 });
  const session = await server.openSession({}, live());
  const model = await session.createModel({ rank: 2, seed: 1 });
  const current = await model.forward(sequences);
  await model.addGradient(sequences, { sampled: [[1, 1, 1]] }, { current, sequencesUntilStep: 1 });
  expect(server.usage()).toMatchObject({ forwardTokens: 4, trainedTokens: 4, sampledTokens: 0 });
  await model.forward([...sequences, ...sequences]);
  const { requests } = server.usage();
  await expect(model.forward([...sequences, ...sequences])).rejects.toMatchObject({
    code: 'budget_spent',
    message: expect.stringContaining('21 of 25 tokens are used, and the next request needs 8'),
  });
  expect(server.usage().requests).toBe(requests);
  await model.forward(sequences);
  await session.close();
});

test('calls of one model wait for each other, in order', async () => {
  const session = await open().openSession({}, live());
  const model = await session.createModel({ rank: 2, seed: 1 });
  await Promise.all([model.forward(sequences), model.saveState('one'), model.forward(sequences)]);
  const numbers = fake.requests.filter(({ body }) => body.model_id === model.id && body.seq_id !== undefined);
  expect(numbers.map(({ body }) => body.seq_id)).toEqual([1, 2, 3]);
  await session.close();
});
