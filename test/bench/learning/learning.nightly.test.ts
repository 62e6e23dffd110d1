import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CellReport, type Lengths, runCell } from './cell.ts';
import { drawCurves } from './curves.ts';
import { evaluate } from './evaluate.ts';
import { type LearningModel, openLearningModel, type Question, type Reply } from './model.ts';
import { addLine, protocolOf, readLines } from './results.ts';
import { LARGEST_PRIOR, tastes } from './tastes.ts';

/** A cell that takes seconds. */
const lengths: Lengths = { curve: 6, patience: 6, pointPrompts: 8, endAnswers: 16 };
const hooks = { signal: new AbortController().signal, onSession: () => {} };
const [form] = tastes;

let model: LearningModel;
beforeAll(async () => {
  model = await openLearningModel();
});
afterAll(() => model?.dispose());

const cell = (method: CellReport['method'], seed: number) =>
  runCell(model, form!, { method, seed }, lengths, hooks);

test('no taste is met by chance more often than a quarter of the time', () => {
  const base = model.speaker(0, undefined);
  let replies: readonly Reply[] | undefined;
  const once = { ask: (questions: readonly Question[]) => (replies ??= base.ask(questions)) };
  for (const taste of tastes)
    expect(evaluate(once, taste, 'prior', 512).met, taste.name).toBeLessThanOrEqual(LARGEST_PRIOR);
  base.dispose();
});

test('a cell learns and reports, and a second run gives the same result; without learning nothing changes', async () => {
  const learned = await cell('combine', 1);
  expect(learned.points.map(({ session }) => session)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(learned.versions).toBeGreaterThanOrEqual(1);
  expect(learned.facts['judgment.reached']).toBe(learned.facts['turn.completed']);
  expect(learned.facts['turn.skipped']).toBeUndefined();

  const again = await cell('combine', 1);
  const { seconds: _, ...numbers } = learned;
  expect(again).toMatchObject(numbers);

  const control = await cell('none', 1);
  expect(control).toMatchObject({ versions: 0, digest: null, start: learned.start, end: learned.start });

  const folder = await mkdtemp(join(tmpdir(), 'clawloop-learning-'));
  try {
    const file = join(folder, 'results.jsonl');
    const line = { protocol: protocolOf(lengths), kind: 'cell', ...learned } as const;
    await addLine(file, line);
    expect(await readLines(file)).toEqual([line]);
    expect(drawCurves([line], lengths.curve)).toContain('<svg');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
