import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TinkerFake, tinkerFake } from '../../test/tinker-fakes/tinker-fake.ts';
import { isPassing } from './errors.ts';
import { openTrainingServer, type TrainingServerSettings } from './open-training-server.ts';
import type { DialectName, RemoteModel, RemoteSession } from './training-server.ts';

const KEY = 'tml-very-secret';
const sequences = [{ promptIds: [5, 17], responseIds: [31, 8, 77] }];
const slopes = { sampled: [[1, -1, 0.5]] };
const adam = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: undefined,
};

/** The norm of one step at fresh weights; a gradient that was added twice doubles it. */
async function normOfStep(model: RemoteModel): Promise<number> {
  const current = await model.forward(sequences);
  await model.addGradient(sequences, slopes, { current, sequencesUntilStep: 1 });
  return (await model.optimizerStep(adam)).gradientNorm!;
}

const suiteOf = (dialect: DialectName, settings: Partial<TrainingServerSettings> = {}) => {
  let fake: TinkerFake;
  let session: RemoteSession;
  const open = (changes: Partial<TrainingServerSettings> = {}) =>
    openTrainingServer({
      url: fake.url,
      apiKey: KEY,
      dialect,
      model: 'tiny',
      waitsMs: [1, 1, 1],
      ...settings,
      ...changes,
    });
  const live = () => new AbortController().signal;
  beforeAll(async () => {
    fake = await tinkerFake({ dialect, apiKey: KEY, pollMs: 5 });
    session = await open().openSession({}, live());
  });
  afterAll(async () => {
    await session.close();
    await fake.stop();
  });
  return {
    fake: () => fake,
    open,
    live,
    model: () => session.createModel({ rank: 2, seed: 1 }),
  };
};

describe('on a server that knows repeated requests', () => {
  const on = suiteOf('tinker');
  let norm: number;
  beforeAll(async () => {
    const model = await on.model();
    norm = await normOfStep(model);
    await model.unload();
  });

  test.each([
    ['the answer is lost after the gradient was added', { kind: 'lose-answer', at: '/forward_backward' }, 1],
    ['the answer to an optimizer step is lost', { kind: 'lose-answer', at: '/optim_step' }, 0],
    ['the promise of a gradient is gone', { kind: 'drop-promise', at: 'retrieve_future', status: 410 }, 1],
    ['the server is busy', { kind: 'refuse', at: '/forward_backward', status: 503 }, 0],
    ['the server asks to wait', { kind: 'refuse', at: '/optim_step', status: 429, retryAfterS: 0.01 }, 0],
    ['a poll fails without a word', { kind: 'refuse', at: '/retrieve_future', status: 400 }, 2],
    ['a poll ends in a gateway', { kind: 'refuse', at: '/retrieve_future', status: 504 }, 1],
  ] as const)('%s: the step is applied once', async (_, fault, skip) => {
    const model = await on.model();
    on.fake().fault(fault, { skip });
    expect(await normOfStep(model)).toBe(norm);
    const steps = on
      .fake()
      .models()
      .find(({ id }) => id === model.id)!.optimizer.step;
    expect(steps).toBe(1);
    await model.unload();
  });

  test('a save that was done before is taken as its result', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'lose-answer', at: '/save_weights' });
    expect(await model.saveState('once')).toEqual({ path: `tinker://${model.id}/weights/once` });
    on.fake().fault({
      kind: 'refuse',
      at: '/save_weights',
      status: 409,
      body: '{"detail":"Checkpoint \'two\' already exists"}',
    });
    expect(await model.saveState('two')).toEqual({ path: `tinker://${model.id}/weights/two` });
    await model.unload();
  });

  test('a number that was used for another request ends the attempt', async () => {
    const model = await on.model();
    const body = '{"detail":"Training request sequence number was reused"}';
    on.fake().fault({ kind: 'refuse', at: '/optim_step', status: 409, body });
    await expect(normOfStep(model)).rejects.toMatchObject({
      code: 'sequence_reused',
      message: expect.stringContaining(model.id),
    });
    await model.unload();
  });

  test('a server that does not take protobuf gets JSON', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'refuse', at: '/forward_backward', status: 415 });
    expect(await normOfStep(model)).toBeCloseTo(norm, 5);
    const last = on.fake().requests.filter(({ path }) => path.endsWith('/forward'));
    expect(last.at(-1)!.headers['content-type']).toBe('application/json');
    await model.unload();
  });
});

describe('on a server that would apply a repeated request twice', () => {
  const on = suiteOf('open-rl');

  test.each(['/forward_backward', '/optim_step', '/create_model'])(
    'a lost answer of %s ends the attempt without a strike',
    async (at) => {
      const before = on.fake().counts.optimizerSteps;
      on.fake().fault({ kind: 'lose-answer', at });
      const attempt = on.model().then(normOfStep);
      const error = await attempt.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'answer_lost' });
      expect(isPassing(error)).toBe(true);
      expect(on.fake().counts.optimizerSteps - before).toBe(at === '/optim_step' ? 1 : 0);
    },
  );

  test('a lost answer of a save is asked for again', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'lose-answer', at: '/save_weights' });
    const { path } = await model.saveState('kept');
    expect(on.fake().states()).toContain(path);
    await model.unload();
  });

  test('a request that was not taken is sent again', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'refuse', at: '/forward_backward', status: 429 });
    expect(await normOfStep(model)).toBeGreaterThan(0);
    await model.unload();
  });

  test.each([
    [401, `{"detail":"Invalid API key ${KEY}"}`, 'wrong_key', true],
    [402, '{"detail":"paused"}', 'payment_required', true],
    [400, '{"detail":"Maximum number of LoRA adapters (3) reached"}', 'too_many_adapters', true],
    [
      400,
      '{"detail":"Model model_1 not loaded (likely stale request from previous server)"}',
      'model_not_loaded',
      true,
    ],
    [404, '{"detail":"Model \'model_1\' not found"}', 'model_not_loaded', true],
    [400, '{"type":"RequestFailedResponse","error_message":"NonFiniteInTensor"}', 'not_finite', false],
    [409, `{"detail":"${KEY}"}`, 'refused', false],
    [422, '{"detail":[{"loc":["body","seq_id"],"msg":"Field required"}]}', 'refused', false],
    [500, `boom ${KEY}`, 'busy', true],
    [200, `no JSON ${KEY}`, 'bad_answer', false],
    [200, '<html>', 'bad_answer', false],
    [200, '{"request":1}', 'bad_answer', false],
  ] as const)('status %i with %s is %s', async (status, body, code, passes) => {
    const model = await on.model();
    on.fake().fault({ kind: 'refuse', at: '/optim_step', status, body }, { times: 4 });
    const error = await model.optimizerStep(adam).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code });
    expect(isPassing(error)).toBe(passes);
    expect(JSON.stringify(error) + String(error) + (error as Error).stack).not.toContain(KEY);
    // what the model has done is unknown, so nothing more is sent to it
    const sent = on.fake().requests.length;
    await expect(model.forward(sequences)).rejects.toBe(error);
    expect(on.fake().requests.length).toBe(sent);
    on.fake().clearFaults();
    await model.unload();
  });

  test('a gradient norm that is not finite ends the attempt', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'norm', at: 'optim_step', norm: null });
    await expect(normOfStep(model)).rejects.toMatchObject({ code: 'not_finite' });
    await expect(model.saveState('lost')).rejects.toMatchObject({ code: 'not_finite' });
    await model.unload();
  });

  test('after a restart models are gone, and saved states are not', async () => {
    const first = await on.model();
    await normOfStep(first);
    const { path } = await first.saveState('before-restart');
    const expected = await normOfStep(first);
    on.fake().restart();
    await expect(first.forward(sequences)).rejects.toMatchObject({ code: 'model_not_loaded' });
    const second = await on.model();
    await second.loadState(path);
    expect(await normOfStep(second)).toBe(expected);
    const third = await on.model();
    await expect(third.loadState('tinker://model_0/weights/none')).rejects.toMatchObject({
      code: 'state_missing',
      message: expect.stringContaining('tinker://model_0/weights/none'),
    });
    for (const model of [second, third]) await model.unload();
  });

  test('a promise that the server no longer knows ends the attempt', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'drop-promise', at: 'retrieve_future', status: 404 });
    await expect(model.forward(sequences)).rejects.toMatchObject({ code: 'model_not_loaded' });
    await model.unload();
  });

  const polls = () => on.fake().requests.filter(({ path }) => path.endsWith('retrieve_future')).length;

  test('a long queue is waited for, up to the limit', async () => {
    const model = await on.model();
    on.fake().fault({ kind: 'hold', at: '/forward_backward' });
    const scored = model.forward(sequences);
    const before = polls();
    await expect.poll(polls).toBeGreaterThan(before + 3);
    on.fake().release();
    expect((await scored)[0]!.length).toBe(3);

    const impatient = on.open({ callLimitMs: 300 });
    const session = await impatient.openSession({}, on.live());
    const other = await session.createModel({ rank: 2, seed: 1 });
    on.fake().fault({ kind: 'hold', at: '/forward_backward' });
    await expect(other.forward(sequences)).rejects.toMatchObject({ code: 'timed_out' });
    on.fake().release();
    await session.close();
    await model.unload();
  });

  test('an abort ends a poll with its reason, and the models are unloaded', async () => {
    const stop = new AbortController();
    const session = await on.open().openSession({}, stop.signal);
    const model = await session.createModel({ rank: 2, seed: 1 });
    on.fake().fault({ kind: 'hold', at: '/forward_backward' });
    const scored = model.forward(sequences);
    await expect
      .poll(() => on.fake().requests.some(({ path }) => path.endsWith('/forward_backward')))
      .toBe(true);
    stop.abort(new Error('the trainer stops'));
    await expect(scored).rejects.toThrow('the trainer stops');
    on.fake().release();
    await session.close();
    expect(
      on
        .fake()
        .models()
        .some(({ id }) => id === model.id),
    ).toBe(false);
  });

  test('a server that is gone is reported with its address, and unload does not throw', async () => {
    const gone = await tinkerFake();
    const server = openTrainingServer({
      url: gone.url,
      apiKey: KEY,
      dialect: 'skyrl-jax',
      model: 'tiny',
      waitsMs: [1],
    });
    const session = await server.openSession({}, on.live());
    const model = await session.createModel({ rank: 2, seed: 1 });
    await gone.stop();
    // the connection that was open may have carried the request
    const error = await model.forward(sequences).catch((reason: unknown) => reason);
    expect(isPassing(error)).toBe(true);
    await session.close();
    await expect(server.check(on.live())).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining(gone.url),
    });
    await server.close();
  });
});
