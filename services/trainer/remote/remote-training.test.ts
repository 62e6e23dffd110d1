import { describe, expect, test } from 'vitest';
import type { TrainingSettings } from '../../../shared/events/training-settings.ts';
import { TinkerError } from '../../../shared/tinker/errors.ts';
import type { TrainingServer } from '../../../shared/tinker/training-server.ts';
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

test('a sample longer than the server takes is left out, and the others train as if alone', async () => {
  const options = { contextTokens: 8 };
  const long = answer(2, { verdict: -1, tokens: { promptIds: [1, 2, 3, 4, 1, 2, 3, 4] } });
  const alone = await candidate([liked], {}, { options });
  const both = await candidate([long, liked], {}, { options });
  expect(both.leftOut).toEqual([{ sampleId: 'answer 2', reason: 'too-long' }]);
  expect(both.adapter.tensors).toEqual(alone.adapter.tensors);
});

test('an open batch with betas that the server does not compute trains with the largest that it does', async () => {
  const toy = toyServer(toyEngine);
  const server = { ...toy, capabilities: { ...toy.capabilities, largestBeta: 0.6 } };
  const second = async (beta: number, options: Partial<RemoteOptions>, gateMeanKl = 100) => {
    const settings = { beta1: beta, beta2: beta, gateLeastScale: 0.125, learningRate: 0.5 };
    const parent = await candidate([liked], { ...settings, gateMeanKl: 100 }, { options });
    return candidate([answer(3)], { ...settings, gateMeanKl }, { parent, options });
  };
  const lowered = await second(0.999, { server });
  expect(lowered.adapter.tensors).toEqual((await second(0.6, {})).adapter.tensors);
  expect(lowered.adapter.tensors).not.toEqual((await second(0.999, {})).adapter.tensors);
  const bound = lowered.metrics.meanKlSampled! / 3;
  const shorter = await second(0.999, { server }, bound);
  expect(shorter.metrics.stepScale).toBeLessThan(1);
  expect(shorter.adapter.tensors).toEqual((await second(0.6, {}, bound)).adapter.tensors);
});

describe('log-probs that are not finite', () => {
  /** A server whose n-th model, from 0, fails from its m-th scoring on. */
  function failing(fails: (model: number, scoring: number) => boolean): TrainingServer {
    const toy = toyServer(toyEngine);
    let models = 0;
    const openSession: typeof toy.openSession = async (...asked) => {
      const session = await toy.openSession(...asked);
      const createModel: typeof session.createModel = async (settings) => {
        const made = await session.createModel(settings);
        const model = models++;
        let scorings = 0;
        const forward: typeof made.forward = async (sequences) => {
          if (fails(model, scorings++))
            throw TinkerError.NOT_FINITE({ detail: 'a log-prob that is not finite' });
          return made.forward(sequences);
        };
        return { ...made, forward };
      };
      return { ...session, createModel };
    };
    return { ...toy, openSession };
  }
  const endOf = async (server: TrainingServer, parent?: Candidate): Promise<unknown> =>
    run([liked], {}, { ...(parent && { parent }), options: { server } }).then(
      () => 'a candidate',
      (error: unknown) => error,
    );

  test('of a fresh model are the fault of the server, and the batch waits', async () => {
    for (const parent of [undefined, await candidate([liked])]) {
      const ended = await endOf(
        failing(() => true),
        parent,
      );
      expect(ended).toMatchObject({ code: 'broken_weights' });
      expect(ended).toSatisfy(isServerWait);
    }
  });

  test('of a loaded state alone are the fault of that state', async () => {
    const ended = await endOf(
      failing((model) => model === 0),
      await candidate([liked]),
    );
    expect(ended).toMatchObject({ code: 'parent_state', message: expect.stringContaining('not finite') });
  });

  test('of later scorings are a strike against the batch', async () => {
    const ended = await endOf(failing((_, scoring) => scoring > 0));
    expect(ended).toMatchObject({ code: 'not_finite' });
    expect(ended).not.toSatisfy(isServerWait);
  });
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
