import { describe, expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { checkpointDigest } from '../../shared/policy/checkpoints/state.ts';
import { topIds } from '../../shared/policy/losses/distribution.ts';
import { opdTopkLoss } from '../../shared/policy/losses/opd-topk.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { binLogProbs, binLogProbsVjp } from '../../shared/policy/testing/distribution.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import {
  drawToken,
  HINT_LOGITS,
  klDivergence,
  ODD_HINT,
  TOY_VOCABULARY,
  toyEngine,
  toyLogProbs,
} from './testing/toy-engine.ts';
import { watchSlopes } from './testing/watch-slopes.ts';

/** Distillation over several tokens per position, on a toy whose optimum is known. */

const hint = 'answer as the hint says';
const hints = [hint];
const hinted = toyLogProbs(undefined, 1, HINT_LOGITS);
const uniform = Math.log(1 / TOY_VOCABULARY);

const settingsOf = (changes: Partial<TrainingSettings>) => ({
  rank: 2,
  alpha: 2,
  gateMeanKl: 100,
  ...changes,
});
const run = async (
  samples: readonly SampleReady['data'][],
  changes: Partial<TrainingSettings>,
  {
    parent,
    n = 1,
    engine = toyEngine,
  }: { parent?: Candidate | undefined; n?: number; engine?: LearningEngine } = {},
): Promise<Candidate> => {
  const result = await step(localTraining(engine), {
    parent,
    batch: batchData(n, samples, settingsOf(changes)),
    samples,
  });
  if (result.kind !== 'candidate') throw new Error(result.detail);
  return result;
};

const answer = (id: number, changes: Partial<Omit<SampleReady['data'], 'tokens'>> = {}) =>
  sampleData(`turn ${id}`, {
    verdict: 0,
    hints,
    ...changes,
    tokens: { responseIds: [id], logProbs: [uniform] },
  });

/** Steps on answers of one token, each sampled from the policy as it then is. */
async function learn(
  steps: number,
  changes: Partial<TrainingSettings>,
  given: readonly string[],
): Promise<Candidate> {
  const random = createRandom('toy');
  let parent: Candidate | undefined;
  for (let n = 1; n <= steps; n++) {
    const now = toyLogProbs(parent?.adapter);
    const samples = Array.from({ length: 8 }, (_, index) => {
      const id = drawToken(now, random);
      const tokens = { responseIds: [id], logProbs: [now[id]!] };
      return sampleData(`${n}/${index}`, { verdict: -1, version: n - 1, hints: given, tokens });
    });
    parent = await run(samples, changes, { parent, n });
  }
  return parent!;
}

const opd = { method: 'opd', learningRate: 0.03, teacher: 'base', baseline: false } as const;

describe.each(['topk', 'overlap'] as const)('%s', (distillation) => {
  test.each(['opd', 'combine'] as const)(
    "%s: the policy converges to the hinted teacher's distribution",
    async (method) => {
      const before = klDivergence(toyLogProbs(undefined), hinted);
      const changes = { ...opd, method, verdictWeight: 0, distillation, topK: 4 };
      const left = async (steps: number) =>
        klDivergence(toyLogProbs((await learn(steps, changes, hints)).adapter), hinted);
      expect(await left(60)).toBeLessThan(0.1 * before);
      expect(await left(180)).toBeLessThan(0.1 * before);
    },
  );

  test('a sample without a hint has no lesson, and none of its tokens trains', async () => {
    const { engine, seen } = watchSlopes();
    const changes = { ...opd, distillation, topK: 3 };
    const { metrics } = await run([answer(4), answer(2, { hints: [] })], changes, { engine });
    expect(seen[1]!.sampled.map((row) => [...Array.from(row)])).toEqual([[0]]);
    expect(seen[1]!.candidates).toEqual([undefined]);
    expect(seen[0]!.candidates![0]).toHaveLength(3);
    // A lesson on several tokens already includes the sampled one.
    expect(Math.abs(seen[0]!.sampled[0]![0]!)).toBe(0);
    expect(metrics).toMatchObject({ hintsUsed: 1 });
    expect(metrics).not.toHaveProperty('teacherGap');
  });

  test('combine: the verdict trains the sampled token in addition to the lesson', async () => {
    const changes = { ...opd, method: 'combine', distillation, topK: 4, learningRate: 5e-3 } as const;
    const [liked, disliked] = await Promise.all(
      [1, -1].map(async (verdict) => toyLogProbs((await run([answer(1, { verdict })], changes)).adapter)),
    );
    const neither = toyLogProbs((await run([answer(1)], changes)).adapter);
    expect(liked![1]).toBeGreaterThan(neither[1]!);
    expect(disliked![1]).toBeLessThan(neither[1]!);
  });

  test('the same input gives the same bits; other settings give others', async () => {
    const samples = [answer(4, { verdict: 1 }), answer(2), answer(1), answer(0)];
    const of = async (changes: Partial<TrainingSettings>) =>
      checkpointDigest(await run(samples, { method: 'combine', distillation, topK: 3, ...changes }));
    expect(await of({})).toBe(await of({}));
    expect(
      new Set([
        await of({}),
        await of({ topK: 2 }),
        await of({ distillation: 'sampled' }),
        await of({ minibatches: 2 }),
      ]).size,
    ).toBe(4);
  });
});

test.each([0, 0.5, 1])(
  'topk, %d of it forward: loss and gradient of a step match the reference function',
  async (forwardKl) => {
    const [k, temperature] = [2, 0.7];
    const teacher = toyLogProbs(undefined, temperature, HINT_LOGITS);
    const student = toyLogProbs(undefined, temperature);
    const ids = topIds(teacher, k);
    const [bins, teacherBins] = [binLogProbs(student, ids), binLogProbs(teacher, ids)];
    const { loss, gradient } = opdTopkLoss([[bins]], [[teacherBins]], [[1]], forwardKl);
    const byLogits = binLogProbsVjp({ logProbs: student, ids, bins }, gradient[0]![0]!, temperature);
    const sample = answer(4);
    const warm = { ...sample, tokens: { ...sample.tokens, effectiveTemperature: temperature } };
    let made: ReadonlyMap<string, Float32Array> = new Map();
    const engine: LearningEngine = {
      ...toyEngine,
      gradients: (...input) => {
        made = toyEngine.gradients(...input);
        return made;
      },
    };
    const { metrics } = await run(
      [warm],
      { ...opd, distillation: 'topk', topK: k, forwardKl, rank: 1, alpha: 1 },
      { engine },
    );
    expect(metrics.loss).toBeCloseTo(loss, 6);
    expect(metrics.distillationLoss).toBeCloseTo(loss, 6);
    // logits = B A, and B is 0 at first: dB = dlogits A
    const { tensors } = toyEngine.createAdapter({ training: 'lora', rank: 1, alpha: 1, seed: 11 });
    const a = [...tensors.values()][0]!.values[0]!;
    const db = [...made.values()][1]!;
    byLogits.forEach((slope, id) => {
      expect(db[id]).toBeCloseTo(slope * a, 6);
    });
  },
);

test('overlap: the hint that the policy agrees with most teaches, in any position', async () => {
  const changes = { ...opd, distillation: 'overlap', topK: 3 } as const;
  // The policy's tokens are 0, 1 and 2 (of equals the lower id). The hint's 0, 2, 4 share two; the odd hint's
  // share one.
  const alone = await run([answer(4)], changes);
  const odd = await run([answer(4, { hints: [ODD_HINT] })], changes);
  expect(alone.metrics).toMatchObject({ hintsRead: 1, hintsUsed: 1 });
  expect(alone.metrics.hintOverlap).toBeCloseTo(2 / 3, 6);
  expect(odd.metrics.hintOverlap).toBeCloseTo(1 / 3, 6);
  for (const given of [
    [ODD_HINT, hint],
    [hint, ODD_HINT],
  ]) {
    const both = await run([answer(4, { hints: given })], changes);
    expect(both.metrics).toMatchObject({ hintsRead: 2, hintsUsed: 1 });
    expect(both.metrics.hintOverlap).toBeCloseTo(2 / 3, 6);
    expect(both.adapter).toEqual(alone.adapter);
  }
  expect(odd.adapter).not.toEqual(alone.adapter);
  // Otherwise the first hint, which is the longest, teaches.
  const first = await run([answer(4, { hints: [ODD_HINT, hint] })], { ...changes, distillation: 'topk' });
  expect(first.adapter).toEqual(
    (await run([answer(4, { hints: [ODD_HINT] })], { ...changes, distillation: 'topk' })).adapter,
  );
});

test('overlap: at most three hints of a sample are read', async () => {
  const many = ['one more hint to read', 'two more hints to read', 'three more hints', 'four more hints'];
  const { metrics } = await run([answer(4, { hints: many })], { ...opd, distillation: 'overlap', topK: 2 });
  expect(metrics).toMatchObject({ hintsRead: 3, hintsUsed: 1 });
});
