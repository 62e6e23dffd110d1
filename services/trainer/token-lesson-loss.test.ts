import { describe } from 'vitest';
import type { z } from 'zod';
import { topIds } from '../../shared/policy/losses/distribution.ts';
import { tokenShares } from '../../shared/policy/losses/reduction.ts';
import { binLogProbs, logSoftmax, logSoftmaxVjp } from '../../shared/policy/testing/distribution.ts';
import {
  describeLossCases,
  expectAllClose,
  expectClose,
  OpdOverlapCase,
  OpdTopkCase,
} from '../../shared/policy/testing/loss-cases.ts';
import type { DistributionRequest } from '../../shared/policy/train/token-distributions.ts';
import { stepSample } from './step-sample.ts';
import { teachTokens } from './teach-tokens.ts';
import { sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';
import { tokenLessonLoss } from './token-lesson-loss.ts';

type Rows = readonly (readonly number[])[];

/** Engines return f32; the reference is f64. */
const tolerance = 1e-5;

/** Returns the table under the last token of a sequence's prompt. */
const teacherOf =
  (tables: readonly Rows[], temperature: number) =>
  (
    sequences: readonly { readonly promptIds: readonly number[] }[],
    { count, requested }: DistributionRequest,
  ) =>
    sequences.map(({ promptIds }, index) => {
      const all = tables[promptIds.at(-1)!]!.map((logits) => logSoftmax(logits, temperature));
      const top = all.map((logProbs) => topIds(logProbs, count));
      const at = (ids: ArrayLike<number>) =>
        Float32Array.from(Array.from(ids, (id, i) => all[Math.floor(i / count)]![id]!));
      return {
        sampled: new Float32Array(all.length),
        topIds: Int32Array.from(top.flat()),
        top: at(top.flat()),
        rest: Float32Array.from(all, (logProbs, t) => binLogProbs(logProbs, top[t]!)[count]!),
        requested: at(requested?.[index] ?? []),
      };
    });

async function lessonOf(
  distillation: 'topk' | 'overlap',
  old: Rows,
  teachers: readonly Rows[],
  { k, temperature }: { readonly k: number; readonly temperature: number },
) {
  const ids = old.map((_, t) => t);
  const sample = stepSample(
    sampleData('a', { tokens: { promptIds: [0], responseIds: ids, logProbs: ids } }),
    { advantage: undefined, verdictWeight: 1, weight: 1 },
  );
  const distributions = teacherOf([old, ...teachers], temperature);
  const lessons = await teachTokens(
    { ...toyEngine, distributions: (_, ...requested) => distributions(...requested) },
    {
      teacher: { score: () => [], distributions },
      policy: 'base',
      pupils: [{ sample, prompts: teachers.map((_, hint) => [1 + hint]) }],
    },
    { distillation, topK: k },
    () => {},
  );
  return lessons.get(sample)!;
}

const clip = { clipLow: 0.2, clipHigh: 0.28 };

describe('a lesson of several tokens agrees with the reference numbers', () => {
  const overlap = {
    group: 'opd-overlap',
    schema: OpdOverlapCase,
    count: 6,
    keep: ({ options: { hint, subset } }: z.output<typeof OpdOverlapCase>) =>
      hint === 'sequence' && subset === 'student',
  };
  const topk = {
    group: 'opd-topk',
    schema: OpdTopkCase,
    count: 7,
    // The reference resolves ties among the teacher's most likely tokens differently.
    keep: ({ direction, note }: z.output<typeof OpdTopkCase>) =>
      direction === 'reverse' && !note.includes('peaked teacher'),
  };

  describeLossCases('overlap', overlap, async ({ inputs, options, ...expected }) => {
    const { k, temperature } = options;
    const lesson = await lessonOf('overlap', inputs.old_logits, inputs.teacher_logits, { k, temperature });
    const all = inputs.cur_logits.map((logits) => logSoftmax(logits, temperature));
    const logProbs = Float32Array.from(lesson.ids, (id, i) => all[Math.floor(i / k)]![id]!);
    const [shares] = tokenShares([inputs.mask], 'token');
    const settings = {
      ...clip,
      distillation: 'overlap',
      topK: k,
      gapClip: options.gap_clip,
      forwardKl: 0,
    } as const;
    const made = tokenLessonLoss(lesson, { logProbs, rest: new Float32Array(0) }, shares!, {
      ...settings,
      atParent: false,
    });
    expectClose(made.loss, expected.loss, tolerance);
    expectAllClose(
      byLogits(all, lesson.ids, made.gradient, { k, temperature }),
      expected.gradient_cur_logits,
      tolerance,
    );
  });

  describeLossCases('topk', topk, async ({ inputs, options: { k, temperature }, direction, ...expected }) => {
    const lesson = await lessonOf('topk', inputs.student_logits, [inputs.teacher_logits], { k, temperature });
    const all = inputs.student_logits.map((logits) => logSoftmax(logits, temperature));
    const bins = all.map((logProbs, t) =>
      binLogProbs(logProbs, [...lesson.ids.subarray(t * k, (t + 1) * k)]),
    );
    const logProbs = Float32Array.from(bins.flatMap((row) => [...row.subarray(0, k)]));
    const rest = Float32Array.from(bins, (row) => row[k]!);
    const [shares] = tokenShares([inputs.mask], 'token');
    const settings = {
      ...clip,
      distillation: 'topk',
      topK: k,
      gapClip: 1,
      forwardKl: Number(direction === 'forward'),
    } as const;
    const made = tokenLessonLoss(lesson, { logProbs, rest }, shares!, { ...settings, atParent: true });
    expectClose(made.loss, expected.loss, tolerance);
    expectAllClose(
      byLogits(all, lesson.ids, made.gradient, { k, temperature }),
      expected.gradient_student_logits,
      tolerance,
    );
  });
});

const byLogits = (
  all: readonly Float64Array[],
  ids: Int32Array,
  slopes: Float64Array,
  { k, temperature }: { readonly k: number; readonly temperature: number },
) =>
  all.map((logProbs, t) => {
    const own = new Map(Array.from({ length: k }, (_, j) => [ids[t * k + j]!, slopes[t * k + j]!]));
    return logSoftmaxVjp(logProbs, own, temperature);
  });
