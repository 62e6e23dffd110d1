import { describe, expect } from 'vitest';
import { withoutRest } from '../losses/distribution.ts';
import { opdTopkLoss } from '../losses/opd-topk.ts';
import { tokenShares } from '../losses/reduction.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { describeLossCases, OpdTopkCase } from '../testing/loss-cases.ts';
import { addAt, candidateLogProbsOf, candidateVjp } from './candidates.ts';
import { logProbsOf, logProbsOfVjp } from './cross-entropy.ts';

describe('KL over k tokens and the rest agrees with the reference numbers', () => {
  describeOnBackends('in f32', (open) => {
    describeLossCases(
      'opd-topk',
      { group: 'opd-topk', schema: OpdTopkCase, count: 16 },
      async ({ inputs, options, direction, ...expected }) => {
        const executor = await open();
        const before = executor.tensorCount();
        const [height, width] = [inputs.student_logits.length, inputs.student_logits[0]!.length];
        const { k, temperature } = options;
        const temperatures = new Float32Array(height).fill(temperature);
        // any will do: its slope is 0. The last is a candidate here, elsewhere it is not
        const targets = Int32Array.from(expected.top, (ids, row) => (row % 2 === 0 ? ids[0]! : width - 1));
        const candidates = { count: k, ids: Int32Array.from(expected.top.flat()), rest: true };
        executor.scope(() => {
          const logits = executor.upload(Float32Array.from(inputs.student_logits.flat()), [height, width]);
          const scored = logProbsOf(executor, logits, targets, temperatures);
          const { logProbs, rest } = candidateLogProbsOf(
            executor,
            logits,
            { targets, temperatures, candidates },
            scored,
          );
          const bins = Array.from(rest, (last, row) => [...logProbs.subarray(row * k, (row + 1) * k), last]);
          // within 1e-5 of the larger of 1 and the value; an empty rest is the smallest normal f32
          bins.flat().forEach((value, index) => {
            const wanted = Math.max(expected.student_bins.flat()[index]!, Math.log(2 ** -126));
            expect(Math.abs(value - wanted) / Math.max(1, Math.abs(wanted))).toBeLessThan(1e-5);
          });
          const shares = tokenShares([inputs.mask], 'token');
          const { loss, gradient } = opdTopkLoss(
            [bins],
            [expected.teacher_bins],
            shares,
            Number(direction === 'forward'),
          );
          expect(Math.abs(loss - expected.loss) / Math.max(1, expected.loss)).toBeLessThan(1e-5);
          const slopes = bins.flatMap((bin, row) => [...withoutRest(bin, gradient[0]![row]!)]);
          const { weights, addition } = candidateVjp(
            executor,
            { targets, temperatures, candidates },
            { weights: new Float32Array(height), candidates: Float32Array.from(slopes) },
            width,
          );
          const dlogits = addAt(
            executor,
            logProbsOfVjp(executor, scored.saved, { targets, temperatures }, weights),
            addition,
          );
          const scale = Math.max(1, ...expected.gradient_student_logits.flat().map(Math.abs));
          const difference = largestDifference(
            executor.read(dlogits),
            expected.gradient_student_logits.flat(),
          );
          expect(difference / scale).toBeLessThan(1e-5);
        });
        expect(executor.tensorCount()).toBe(before);
      },
    );
  });
});
