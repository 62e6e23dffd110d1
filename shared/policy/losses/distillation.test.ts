import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { opdLoss, subsetOf } from '../testing/distillation.ts';
import {
  binLogProbs,
  binLogProbsVjp,
  entropyOf,
  logSoftmax,
  logSoftmaxVjp,
} from '../testing/distribution.ts';
import {
  describeLossCases,
  expectAllClose,
  expectClose,
  OpdOverlapCase,
  OpdTopkCase,
  row,
  rows,
} from '../testing/loss-cases.ts';
import { combineLoss } from './combine.ts';
import { topIds } from './distribution.ts';
import { groupAdvantages } from './group-advantages.ts';
import { teacherGap } from './opd.ts';
import { chooseHints, opdOverlapLoss, overlapOf } from './opd-overlap.ts';
import { opdTopkLoss } from './opd-topk.ts';
import { tokenShares } from './reduction.ts';

const OpdSampledCase = z.object({
  note: z.string(),
  inputs: z.object({ teacher: rows, old: rows, cur: rows, mask: rows }),
  advantages: rows,
  loss: z.number(),
  gradient_cur: rows,
});
const CombineCase = z.object({
  note: z.string(),
  inputs: z.object({ teacher: rows, old: rows, cur: rows, mask: rows, rewards: row }),
  options: z.object({ w_rl: z.number(), w_opd: z.number(), gap_clip: z.number() }),
  loss: z.number(),
  gradient_cur: rows,
});
const DistributionCase = z.object({
  note: z.string(),
  inputs: z.object({ logits: rows, chosen: row }),
  options: z.object({ temperature: z.number() }),
  log_probs: rows,
  entropy: row,
  gradient_entropy: rows,
  gradient_chosen: rows,
});
const GroupCase = z.object({
  note: z.string(),
  inputs: z.object({ rewards: row, groups: row }),
  options: z.object({ kind: z.enum(['grpo', 'mean']), unbiased: z.boolean().nullable(), eps: z.number() }),
  advantages: row,
});

const plain = { clipLow: 0.2, clipHigh: 0.28, dualClip: undefined, stalenessCap: undefined };
const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);

describe('distillation agrees with the reference numbers', () => {
  const sampled = { group: 'opd-sampled', schema: OpdSampledCase, count: 6 };
  const combine = { group: 'combine', schema: CombineCase, count: 6 };
  const topk = { group: 'opd-topk', schema: OpdTopkCase, count: 16 };
  const overlap = { group: 'opd-overlap', schema: OpdOverlapCase, count: 10 };
  const distribution = { group: 'distribution', schema: DistributionCase, count: 10 };
  const groups = { group: 'group-advantages', schema: GroupCase, count: 18 };

  describeLossCases('opd on the sampled token', sampled, ({ inputs, ...expected }) => {
    const { teacher, old, cur, mask } = inputs;
    expectAllClose(teacherGap(teacher, old, { gapClip: 1 }), expected.advantages);
    const { loss, gradient } = opdLoss(
      {
        cur,
        teacher,
        prox: old,
        behavior: old,
        shares: tokenShares(mask, 'token'),
        unweighted: cur.map(() => true),
      },
      { ...plain, gapClip: 1 },
    );
    expectClose(loss, expected.loss);
    expectAllClose(gradient, expected.gradient_cur);
  });

  describeLossCases('combine', combine, ({ inputs, options, ...expected }) => {
    const { teacher, old, cur, mask, rewards } = inputs;
    const { loss, gradient } = combineLoss(
      {
        cur,
        teacher,
        rewards,
        prox: old,
        behavior: old,
        shares: tokenShares(mask, 'token'),
        unweighted: cur.map(() => true),
      },
      { ...plain, verdictWeight: options.w_rl, hintWeight: options.w_opd, gapClip: options.gap_clip },
    );
    expectClose(loss, expected.loss);
    expectAllClose(gradient, expected.gradient_cur);
  });

  describeLossCases('opd-topk', topk, ({ inputs, options: { k, temperature }, direction, ...expected }) => {
    const student = inputs.student_logits.map((logits) => logSoftmax(logits, temperature));
    const teacher = inputs.teacher_logits.map((logits) => logSoftmax(logits, temperature));
    const top = teacher.map((logProbs) => topIds(logProbs, k));
    // of equally likely tokens any will do
    const likelihoods = (ids: readonly (readonly number[])[]) =>
      ids.map((some, t) => some.map((id) => teacher[t]![id]!).toSorted((a, b) => b - a));
    expect(likelihoods(top)).toEqual(likelihoods(expected.top));
    const bins = student.map((logProbs, t) => binLogProbs(logProbs, expected.top[t]!));
    const teacherBins = teacher.map((logProbs, t) => binLogProbs(logProbs, expected.top[t]!));
    expectAllClose(bins, expected.student_bins);
    expectAllClose(teacherBins, expected.teacher_bins);
    const { loss, gradient } = opdTopkLoss(
      [bins],
      [teacherBins],
      tokenShares([inputs.mask], 'token'),
      Number(direction === 'forward'),
    );
    expectClose(loss, expected.loss);
    expectAllClose(
      student.map((logProbs, t) =>
        binLogProbsVjp({ logProbs, ids: expected.top[t]!, bins: bins[t]! }, gradient[0]![t]!, temperature),
      ),
      expected.gradient_student_logits,
    );
  });

  describeLossCases('opd-overlap', overlap, ({ inputs, options, ...expected }) => {
    const { k, temperature } = options;
    const of = (logits: readonly (readonly number[])[]) => logits.map((one) => logSoftmax(one, temperature));
    const [old, cur, teachers] = [
      of(inputs.old_logits),
      of(inputs.cur_logits),
      inputs.teacher_logits.map(of),
    ];
    const top = (logProbs: readonly Float64Array[]) => logProbs.map((one) => topIds(one, k));
    const [studentTop, teacherTops] = [top(old), teachers.map(top)];
    const overlaps = teacherTops.map((tops) => tops.map((ids, t) => overlapOf(studentTop[t]!, ids)));
    expect(overlaps).toEqual(expected.overlap);
    const hints = chooseHints(overlaps, inputs.mask, options.hint);
    expect(hints).toEqual(expected.chosen_hint);
    const subsets = hints.map((hint, t) => subsetOf(options.subset, studentTop[t]!, teacherTops[hint]![t]!));
    expect(subsets.map(sorted)).toEqual(expected.subset.map(sorted));
    const at = (logProbs: readonly Float64Array[]) => [
      subsets.map((ids, t) => ids.map((id) => logProbs[t]![id]!)),
    ];
    const teacher = [subsets.map((ids, t) => ids.map((id) => teachers[hints[t]!]![t]![id]!))];
    const { loss, gradient } = opdOverlapLoss(
      { cur: at(cur), old: at(old), teacher },
      tokenShares([inputs.mask], 'token'),
      { ...plain, gapClip: options.gap_clip },
    );
    expectClose(loss, expected.loss);
    const byLogits = cur.map((logProbs, t) =>
      logSoftmaxVjp(logProbs, new Map(subsets[t]!.map((id, v) => [id, gradient[0]![t]![v]!])), temperature),
    );
    expectAllClose(byLogits, expected.gradient_cur_logits);
  });

  describeLossCases('distribution', distribution, ({ inputs, options: { temperature }, ...expected }) => {
    const logProbs = inputs.logits.map((logits) => logSoftmax(logits, temperature));
    expectAllClose(logProbs, expected.log_probs);
    const entropies = logProbs.map((one) => entropyOf(one, temperature));
    expectAllClose([entropies.map(({ entropy }) => entropy)], [expected.entropy]);
    expectAllClose(
      entropies.map(({ gradient }) => gradient),
      expected.gradient_entropy,
    );
    expectAllClose(
      logProbs.map((one, t) => logSoftmaxVjp(one, new Map([[inputs.chosen[t]!, 1]]), temperature)),
      expected.gradient_chosen,
    );
  });

  describeLossCases(
    'group advantages',
    groups,
    ({ inputs, options: { kind, unbiased, eps }, advantages }) => {
      const settings =
        kind === 'mean' ? { kind } : ({ kind, unbiased: unbiased ?? false, epsilon: eps } as const);
      expectAllClose([groupAdvantages(inputs.rewards, inputs.groups, settings)], [advantages]);
    },
  );
});

test('a turn trains by its verdict, its hint, or both, whichever it has', () => {
  const batch = {
    cur: [[-1], [-2]],
    prox: [[-1], [-2]],
    behavior: [[-1], [-2]],
    shares: [[0.5], [0.5]],
    unweighted: [true, true],
  };
  const { gradient } = combineLoss(
    { ...batch, rewards: [-1, 0], teacher: [undefined, [-1.5]] },
    { ...plain, verdictWeight: 1, hintWeight: 1, gapClip: 1 },
  );
  expectAllClose(gradient, [[0.5], [-0.25]]);
});
