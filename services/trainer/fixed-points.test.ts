import { describe, expect, test } from 'vitest';
import type { DistillationForm, TrainingSettings } from '../../shared/events/training-settings.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { logSoftmax } from '../../shared/policy/testing/distribution.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { drawToken, HINT_LOGITS, klDivergence, toyEngine, toyLogProbs } from './testing/toy-engine.ts';

/**
 * Where the policy converges with each teacher if the same hint is repeated: the toy's hint always adds the
 * same logits.
 */

const hints = ['answer as the hint says'];
const STEPS = 400;
const opd = { method: 'opd', learningRate: 0.03, rank: 2, alpha: 2, gateMeanKl: 100 } as const;

/** Steps on answers of one token, each batch sampled from the policy as it then is. */
async function learn(steps: number, changes: Partial<TrainingSettings>): Promise<Float64Array> {
  const random = createRandom('toy');
  let parent: Candidate | undefined;
  for (let n = 1; n <= steps; n++) {
    const now = toyLogProbs(parent?.adapter);
    const samples = Array.from({ length: 16 }, (_, index) => {
      const id = drawToken(now, random);
      const tokens = { responseIds: [id], logProbs: [now[id]!] };
      return sampleData(`${n}/${index}`, { verdict: 0, version: n - 1, hints, tokens });
    });
    const settings = { ...opd, ...changes };
    const result = await step(localTraining(toyEngine), {
      parent,
      batch: batchData(n, samples, settings),
      samples,
    });
    if (result.kind === 'not-finite') throw new Error(result.detail);
    // At the fixed point there may be nothing to learn.
    if (result.kind === 'candidate') parent = result;
  }
  return toyLogProbs(parent?.adapter);
}

/** theta = (1 - a) (theta + hint) + a hint, of a base without logits: hint / a */
const restingPoint = (anchor: number): Float64Array => logSoftmax(HINT_LOGITS.map((logit) => logit / anchor));

const forms: readonly DistillationForm[] = ['sampled', 'topk', 'overlap'];
describe.each(forms)('%s', (distillation) => {
  const settings = { distillation, topK: 4 } as const;

  test("base: the policy converges to the base's reading of the hint", async () => {
    const after = await learn(STEPS, { ...settings, teacher: 'base' });
    expect(klDivergence(after, restingPoint(1))).toBeLessThan(0.02);
  });

  test('current alone: it does not converge, and one token remains in the end', async () => {
    const after = await learn(STEPS, { ...settings, teacher: 'current', teacherAnchor: 0 });
    expect(Math.exp(Math.max(...after))).toBeGreaterThan(0.99);
  });

  test.each([0.3, 0.5])('current, anchored by %d: it converges to the formula', async (teacherAnchor) => {
    const [earlier, after] = await Promise.all(
      [STEPS / 2, STEPS].map((steps) => learn(steps, { ...settings, teacher: 'current', teacherAnchor })),
    );
    expect(klDivergence(earlier!, restingPoint(teacherAnchor))).toBeLessThan(0.03);
    expect(klDivergence(after!, restingPoint(teacherAnchor))).toBeLessThan(0.03);
  });
});

test.each([0.5, 1])(
  'topk with a share of %d of the forward KL converges to the same formula',
  async (forwardKl) => {
    const settings = {
      distillation: 'topk',
      topK: 4,
      forwardKl,
      teacher: 'current',
      teacherAnchor: 0.3,
    } as const;
    expect(klDivergence(await learn(STEPS, settings), restingPoint(0.3))).toBeLessThan(0.03);
  },
);

test('an anchor has no effect on a fixed teacher or on a first version', async () => {
  const changes = { distillation: 'topk', topK: 3 } as const;
  expect(await learn(3, { ...changes, teacher: 'base', teacherAnchor: 0.5 })).toEqual(
    await learn(3, { ...changes, teacher: 'base', teacherAnchor: 0 }),
  );
  expect(await learn(1, { ...changes, teacherAnchor: 0.5 })).toEqual(
    await learn(1, { ...changes, teacherAnchor: 0 }),
  );
  expect(await learn(2, { ...changes, teacherAnchor: 0.5 })).not.toEqual(
    await learn(2, { ...changes, teacherAnchor: 0 }),
  );
});
