import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TinkerFake, tinkerFake } from '../../test/tinker-fakes/tinker-fake.ts';
import { createLora } from '../policy/model/lora.ts';
import { largestDifference } from '../policy/testing/backends.ts';
import { createAdamW, emptyAdamWState, gradientNorm } from '../policy/train/adamw.ts';
import { scoreResponses } from '../policy/train/scoring.ts';
import { lossAndGradients } from '../policy/train/training.ts';
import { dialects } from './dialects.ts';
import { openTrainingServer } from './open-training-server.ts';
import type {
  DialectName,
  RemoteSession,
  ServerAdam,
  ServerSequence,
  TrainingServer,
} from './training-server.ts';

const sequences: readonly ServerSequence[] = [
  { promptIds: [5, 17, 900, 44], responseIds: [31, 8, 77, 600, 2] },
  { promptIds: [9], responseIds: [12, 13] },
  { promptIds: [100, 101], responseIds: [102, 103, 104] },
];
const slopes = [
  [0.5, -1, 0.25, 0, 2],
  [-0.75, 1.5],
  [1, -1, 0.125],
];
const adam: ServerAdam = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.01,
  gradientClip: undefined,
};

/** The same gradient by this repository's own engine. */
function localGradients({ policy }: TinkerFake, adapter: ReturnType<typeof createLora>) {
  const loaded = policy.loadAdapter(adapter);
  const loss = () => ({ loss: 0, metrics: {}, gradient: slopes });
  const { gradients } = lossAndGradients(policy, loaded, sequences, { loss });
  loaded.dispose();
  return gradients;
}

function localScores({ policy }: TinkerFake, adapter: ReturnType<typeof createLora>) {
  const loaded = policy.loadAdapter(adapter);
  const scores = scoreResponses(policy, loaded, sequences);
  loaded.dispose();
  return scores;
}

const farthest = (a: readonly Float32Array[], b: readonly Float32Array[]): number =>
  Math.max(...a.map((row, n) => largestDifference(row, b[n]!)));

describe.each(Object.keys(dialects) as DialectName[])('dialect %s', (dialect) => {
  let fake: TinkerFake;
  let server: TrainingServer;
  let session: RemoteSession;
  beforeAll(async () => {
    fake = await tinkerFake({ dialect });
    server = openTrainingServer({ url: fake.url, apiKey: 'tml-test', dialect, model: 'tiny' });
    session = await server.openSession({ batch: 'b' }, new AbortController().signal);
  });
  afterAll(async () => {
    await session.close();
    await server.close();
    await fake.stop();
  });

  test('knows its models', async () => {
    const report = await server.check(new AbortController().signal);
    expect(report).toEqual({ models: ['tiny'], contextTokens: 512 });
  });

  test('a step over two calls is that of the own engine', async () => {
    const model = await session.createModel({ rank: 4, seed: 3 });
    const local = createLora(fake.policy.config, { rank: 4, alpha: 32, seed: 3 });
    const current = await model.forward(sequences);
    const expected = localScores(fake, local);
    expect(farthest(current, expected)).toBeLessThan(1e-5);

    const context = { sequencesUntilStep: 3 };
    const part = (from: number, to?: number) => ({
      of: sequences.slice(from, to),
      slopes: { sampled: slopes.slice(from, to) },
      context: { ...context, current: current.slice(from, to) },
    });
    for (const call of [part(0, 2), part(2)]) await model.addGradient(call.of, call.slopes, call.context);
    const { gradientNorm: norm } = await model.optimizerStep(adam);
    const gradients = localGradients(fake, local);
    if (dialect === 'fireworks') expect(norm).toBeUndefined();
    else expect(norm).toBeCloseTo(gradientNorm(gradients), 3);

    const moved = await model.forward(sequences);
    expect(farthest(moved, current)).toBeGreaterThan(0.001);
    if (server.capabilities.adamPerRequest) {
      const parameters = new Map([...local.tensors].map(([name, { values }]) => [name, values]));
      createAdamW(adam).step(parameters, gradients, emptyAdamWState());
      expect(farthest(moved, localScores(fake, local))).toBeLessThan(1e-4);
    }
    await model.unload();
  });

  test('a fresh model that loads a state goes on as the first would', async () => {
    const first = await session.createModel({ rank: 2, seed: 5 });
    const step = async (model: typeof first) => {
      const current = await model.forward(sequences);
      await model.addGradient(sequences, { sampled: slopes }, { current, sequencesUntilStep: 3 });
      return model.optimizerStep(adam);
    };
    await step(first);
    const { path } = await first.saveState('after-one');
    expect(path).toBe(`tinker://${first.id}/weights/after-one`);
    await step(first);
    const second = await session.createModel({ rank: 2, seed: 6 });
    await second.loadState(path);
    await step(second);
    expect(await second.forward(sequences)).toEqual(await first.forward(sequences));
    await server.removeState(path, new AbortController().signal);
    expect(fake.states().includes(path)).toBe(!server.capabilities.deletesStates);
    for (const model of [first, second]) await model.unload();
    expect(fake.models().length).toBe(0);
  });

  test('a call that fails carries the explanation of the server', async () => {
    const model = await session.createModel({ rank: 2, seed: 6 });
    fake.fault({ kind: 'fail', at: '/optim_step', detail: 'the engine says no' });
    await expect(model.optimizerStep(adam)).rejects.toMatchObject({
      code: 'refused',
      message: 'The training server refuses optim_step: the engine says no',
    });
    await model.unload();
  });

  test('an adapter is downloaded where the server has it', async () => {
    const model = await session.createModel({ rank: 2, seed: 7 });
    if (server.capabilities.adapterDownload) {
      const files = await model.downloadAdapter('out-1');
      expect([...files.keys()].sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
      expect(fake.requests.filter(({ path }) => path.endsWith('model.safetensors'))).not.toContainEqual(
        expect.objectContaining({ headers: expect.objectContaining({ 'x-api-key': expect.anything() }) }),
      );
      const config = JSON.parse(Buffer.from(files.get('adapter_config.json')!).toString());
      expect(config).toMatchObject({ r: 2, lora_alpha: 32, target_modules: null });
    } else await expect(model.downloadAdapter('out-1')).rejects.toMatchObject({ code: 'not_on_this_server' });
    await model.unload();
  });

  test('several targets per position, where the server takes them', async () => {
    const model = await session.createModel({ rank: 2, seed: 8 });
    const own = sequences.slice(0, 2);
    const ids = [Int32Array.from([1, 31, 4, 8, 5, 6, 7, 600, 2, 3]), undefined];
    const candidates = { count: 2, ids };
    if (!server.capabilities.severalTargets) {
      await expect(model.forwardCandidates(own, candidates)).rejects.toMatchObject({
        code: 'not_on_this_server',
      });
      await model.unload();
      return;
    }
    const local = createLora(fake.policy.config, { rank: 2, alpha: 32, seed: 8 });
    const loaded = fake.policy.loadAdapter(local);
    const candidateSlopes = [Float64Array.from({ length: 10 }, (_, i) => Math.sin(i)), undefined];
    const [pair] = [own.slice(0, 1)];
    let seen: Float32Array | undefined;
    const { gradients } = lossAndGradients(fake.policy, loaded, pair, {
      candidates: { count: 2, rest: false, ids: [ids[0]] },
      loss: (_, [made]) => {
        seen = made!.logProbs;
        return { loss: 0, metrics: {}, gradient: [slopes[0]!], candidateGradient: [candidateSlopes[0]] };
      },
    });
    loaded.dispose();
    const scored = await model.forwardCandidates(own, candidates);
    expect(scored.sampled).toEqual(await model.forward(own));
    expect(scored.candidates[1]).toBeUndefined();
    expect(largestDifference(scored.candidates[0]!, seen!)).toBeLessThan(1e-5);
    await model.addGradient(
      own,
      { sampled: [slopes[0]!, [0, 0]], candidates: { ...candidates, slopes: candidateSlopes } },
      { current: scored.sampled, sequencesUntilStep: 2 },
    );
    const { gradientNorm: norm } = await model.optimizerStep(adam);
    expect(norm).toBeCloseTo(gradientNorm(gradients), 3);
    const [top] = await model.topTokens(own.slice(0, 1), 3);
    const rescored = await model.forwardCandidates(own.slice(0, 1), { count: 3, ids: [top!.ids] });
    expect(largestDifference(rescored.candidates[0]!, top!.logProbs)).toBeLessThan(1e-5);
    await model.unload();
  });
});
