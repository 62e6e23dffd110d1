import { expect, test } from 'vitest';
import type { TrainingSettings } from '../../../shared/events/training-settings.ts';
import { TinkerError } from '../../../shared/tinker/errors.ts';
import { type Candidate, step } from '../step.ts';
import { batchData, sampleData } from '../testing/facts.ts';
import { toyEngine, toyLogProbs } from '../testing/toy-engine.ts';
import { toyRemote, toyServer } from '../testing/toy-server.ts';
import type { RemoteOptions } from './remote-training.ts';
import { isServerWait } from './server-wait.ts';

const uniform = Math.log(1 / 5);
const answer = (id: number, changes: Parameters<typeof sampleData>[1] = {}) =>
  sampleData(`answer ${id}`, {
    ...changes,
    tokens: { responseIds: [id], logProbs: [uniform], ...changes.tokens },
  });
const liked = answer(4);

const run = async (
  samples: readonly ReturnType<typeof sampleData>[],
  settings: Partial<TrainingSettings> = {},
  { parent, options }: { parent?: Candidate; options?: Partial<RemoteOptions> } = {},
) => {
  const batch = batchData(parent === undefined ? 1 : 2, samples, { rank: 2, alpha: 2, ...settings });
  return step(toyRemote(toyEngine, options), { parent, batch, samples });
};
const candidate = async (...input: Parameters<typeof run>): Promise<Candidate> => {
  const result = await run(...input);
  if (result.kind !== 'candidate') throw new Error(result.detail);
  return result;
};

test('samples that a server cannot score are left out and named, and the others train as if alone', async () => {
  const warm = answer(2, { verdict: -1, tokens: { effectiveTemperature: 0.7 } });
  const alone = await candidate([liked]);
  const both = await candidate([warm, liked]);
  expect(both.leftOut).toEqual([{ sampleId: 'answer 2', reason: 'other-temperature' }]);
  expect(both.metrics.samplesLeftOut).toBe(1);
  expect(both.adapter.tensors).toEqual(alone.adapter.tensors);
  expect(both.baseline).toEqual(alone.baseline);
  expect(await run([warm])).toEqual({
    kind: 'nothing-learned',
    detail: 'a training server can train none of its samples: other-temperature',
  });
});

test('an open batch with betas that the server does not compute trains with the largest that it does', async () => {
  const toy = toyServer(toyEngine);
  const server = { ...toy, capabilities: { ...toy.capabilities, mostBeta: 0.6 } };
  const second = async (beta2: number, options: Partial<RemoteOptions>) => {
    const settings = { beta1: 0.5, beta2, gateMeanKl: 100 };
    const parent = await candidate([liked], settings, { options });
    return (await candidate([answer(3)], settings, { parent, options })).adapter.tensors;
  };
  expect(await second(0.999, { server })).toEqual(await second(0.6, {}));
  expect(await second(0.999, { server })).not.toEqual(await second(0.999, {}));
});

test('a server whose weights are broken is no fault of the batch', async () => {
  const toy = toyServer(toyEngine);
  const broken = async () => {
    throw TinkerError.NOT_FINITE({ detail: 'a log-prob that is not finite' });
  };
  const openSession: typeof toy.openSession = async (...asked) => {
    const session = await toy.openSession(...asked);
    const createModel: typeof session.createModel = async (settings) => ({
      ...(await session.createModel(settings)),
      forward: broken,
    });
    return { ...session, createModel };
  };
  const server = { ...toy, openSession };
  const parent = await candidate([liked]);
  for (const given of [{}, { parent }]) {
    const ended = run([liked], {}, { ...given, options: { server } });
    await expect(ended).rejects.toSatisfy(isServerWait);
    await expect(ended).rejects.toMatchObject({ code: 'broken_weights' });
  }
});

test('a step that is too long is trained again from its start with a part of the rate', async () => {
  const long = { learningRate: 1, gateLeastScale: 0.125 };
  const whole = await candidate([liked], { ...long, gateMeanKl: 100 });
  const bound = whole.metrics.meanKlSampled! / 3;
  const shorter = await candidate([liked], { ...long, gateMeanKl: bound });
  expect(shorter.gate).toMatchObject({ passed: true });
  expect(shorter.metrics.stepScale).toBeLessThan(1);
  expect(shorter.metrics.meanKlSampled).toBeLessThanOrEqual(bound);
  const { stepScale } = shorter.metrics;
  const slow = await candidate([liked], { ...long, learningRate: stepScale!, gateMeanKl: 100 });
  expect(shorter.adapter.tensors).toEqual(slow.adapter.tensors);
  expect(shorter.optimizer.step).toBe(1);
  const refused = await candidate([liked], { ...long, gateMeanKl: 1e-9 });
  expect(refused.gate).toMatchObject({ passed: false, reason: 'kl-to-parent' });
  expect(refused.metrics).toMatchObject({ candidateScale: 0.125, stepScale: 0 });
});

test('the distances are estimated from the answers', async () => {
  const { adapter, metrics } = await candidate([liked], { learningRate: 0.3, gateMeanKl: 100 });
  const moved = toyLogProbs(adapter)[4]! - uniform;
  // k3 of KL(parent || candidate) on one token
  expect(metrics.meanKlSampled).toBeCloseTo(Math.expm1(moved) - moved, 5);
});

test('a gate that ought to check answers says that it did not', async () => {
  expect((await candidate([liked], { gateCollapse: 0.2 })).gate).toEqual({
    passed: true,
    answersChecked: false,
  });
});

test('another state under the path of the parent is recognised', async () => {
  const parent = await candidate([liked], { learningRate: 0.5, gateMeanKl: 100 });
  if (parent.optimizer.kind !== 'remote') throw new Error('it was trained on a server');
  const { probe } = parent.optimizer;
  const other = { ...probe, logProbs: probe.logProbs.map((logProb) => logProb - 0.1) };
  const optimizer = { ...parent.optimizer, probe: other };
  await expect(run([liked], {}, { parent: { ...parent, optimizer } })).rejects.toThrow(
    /does not hold the parent.*differ by 0\.1/,
  );
});

test('the paths of states are noted before they are saved', async () => {
  const noted: string[] = [];
  const { optimizer } = await candidate(
    [liked],
    {},
    { options: { onState: async (path) => void noted.push(path) } },
  );
  expect(noted[0]).toMatch(/^tinker:\/\/[^/]+\/weights\/batch-1$/);
  expect(noted).toContain(optimizer.kind === 'remote' && optimizer.path);
});

test('an anchored teacher is mixed without its normalisation, which lies within anchor * KL', async () => {
  const parent = await candidate([liked], { learningRate: 0.5, gateMeanKl: 100 });
  const trainee = await toyRemote(toyEngine).open({
    parent,
    settings: batchData(2, [liked]).settings as TrainingSettings,
    seed: 1,
    ownsParent: false,
    label: 'label',
  });
  const sequences = [0, 1, 2, 3, 4].map((id) => ({
    promptIds: [1, 2, 3],
    responseIds: [id],
    temperature: 1,
  }));
  const mixed = (await trainee.score('start', sequences, 0.3)).map((row) => row[0]!);
  const [p, q] = [toyLogProbs(parent.adapter), toyLogProbs(undefined)];
  const total = mixed.reduce((sum, logProb) => sum + Math.exp(logProb), 0);
  const kl = p.reduce((sum, logProb, id) => sum + Math.exp(logProb) * (logProb - q[id]!), 0);
  expect(-Math.log(total)).toBeGreaterThan(0);
  expect(-Math.log(total)).toBeLessThanOrEqual(0.3 * kl);
  mixed.forEach((logProb, id) => {
    expect(logProb).toBeCloseTo(0.7 * p[id]! + 0.3 * q[id]!, 5);
  });
});
