import { describe, expect, onTestFailed, test } from 'vitest';
import { z } from 'zod';
import { readReference } from './reference-fixtures.ts';

export const row = z.array(z.number());
export const rows = z.array(row);

/** KL over the teacher's k tokens and the rest. */
export const OpdTopkCase = z.object({
  note: z.string(),
  direction: z.enum(['reverse', 'forward']),
  inputs: z.object({ student_logits: rows, teacher_logits: rows, mask: row }),
  options: z.object({ k: z.int(), temperature: z.number() }),
  top: rows,
  student_bins: rows,
  teacher_bins: rows,
  loss: z.number(),
  gradient_student_logits: rows,
});

/** The student's k tokens, and of several hints the one that shares most of them. */
export const OpdOverlapCase = z.object({
  note: z.string(),
  inputs: z.object({ old_logits: rows, cur_logits: rows, teacher_logits: z.array(rows), mask: row }),
  options: z.object({
    k: z.int(),
    hint: z.enum(['sequence', 'token', 'first']),
    subset: z.enum(['student', 'teacher', 'overlap']),
    gap_clip: z.number(),
    temperature: z.number(),
  }),
  overlap: rows,
  chosen_hint: row,
  subset: rows,
  loss: z.number(),
  gradient_cur_logits: rows,
});

type LossKind<Case> = {
  /** the `group` of its cases in losses.json */
  readonly group: string;
  readonly schema: z.ZodType<Case>;
  /** number of cases to keep */
  readonly count: number;
  readonly keep?: (one: Case) => boolean;
};

function readLossCases<Case>({ group, schema, keep = () => true }: LossKind<Case>): readonly Case[] {
  const { cases } = z
    .object({ cases: z.array(z.looseObject({ group: z.string() })) })
    .parse(readReference('losses/losses.json'));
  return cases
    .filter((one) => one.group === group)
    .map((one) => schema.parse(one))
    .filter(keep);
}

/** A test for each reference case of one kind of loss. No file is read before the first test runs. */
export function describeLossCases<Case extends { readonly note: string }>(
  name: string,
  kind: LossKind<Case>,
  check: (one: Case) => void | Promise<void>,
): void {
  let read: readonly Case[] | undefined;
  const cases = () => {
    read ??= readLossCases(kind);
    return read;
  };
  describe(name, () => {
    test(`there are ${kind.count} cases`, () => expect(cases()).toHaveLength(kind.count));

    test.each(Array.from({ length: kind.count }, (_, index) => index))('case %i', async (index) => {
      const one = cases()[index]!;
      onTestFailed(() => console.error(`${name}, case ${index}: ${one.note}`));
      await check(one);
    });
  });
}

/** The difference is relative to max(1, value); the default is for f64 against f64. */
export const expectClose = (actual: number, expected: number, tolerance = 1e-10) =>
  expect(Math.abs(actual - expected) / Math.max(1, Math.abs(expected))).toBeLessThan(tolerance);

export function expectAllClose(
  actual: readonly ArrayLike<number>[],
  expected: readonly (readonly number[])[],
  tolerance?: number,
): void {
  expect(actual.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  expected.forEach((values, n) => {
    values.forEach((value, t) => {
      expectClose(actual[n]![t]!, value, tolerance);
    });
  });
}
