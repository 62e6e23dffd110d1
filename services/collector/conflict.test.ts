import { expect, test } from 'vitest';
import { BatchRequested } from '../../shared/events/batch-requested.ts';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { hintOf, type WishKind } from '../../shared/wishes/wishes.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { sampleReady, timeAt } from './testing/events.ts';
import { type Run, runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = {
  size: 100,
  maxStaleness: 4,
  training,
  wishPatience: 100,
  conflictAnchor: 0.5,
};

type More = Partial<SampleReady['data']>;
type Said = readonly [WishKind | 'praise', More?];

const said = (verdicts: readonly Said[]): readonly SampleReady[] =>
  verdicts.map(([wish, more = {}], index) =>
    sampleReady(`t${index}`, 's', 0, {
      key: 'k',
      ...(wish === 'praise' ? { verdict: 1 } : { verdict: -1, hints: [hintOf([wish])] }),
      ...more,
    }),
  );

/** The settings of a batch that is formed after these events. */
function batchOf(
  events: readonly InputEvent[],
  by: SubmitSettings,
  rows: Run['rows'] = new Map(),
): BatchSubmitted['data']['settings'] {
  const requested = BatchRequested.create({
    id: 'requested',
    source: 'test',
    time: timeAt(1),
    data: { adapter: 'default', after: 0, reason: 'operator' },
  });
  const { emitted } = runFold(submit, [...events, requested], by, { rows });
  const batch = emitted.find(({ type }) => type === 'batch.submitted') as BatchSubmitted;
  return batch.data.settings;
}

/** The settings of a batch that is formed after these verdicts. */
const settingsAfter = (verdicts: readonly Said[], changes: Partial<SubmitSettings> = {}) =>
  batchOf(said(verdicts), { ...settings, ...changes });

const anchorAfter = (...args: Parameters<typeof settingsAfter>) => settingsAfter(...args).teacherAnchor;

const flips = (count: number, more: More = {}): readonly Said[] =>
  Array.from({ length: count + 1 }, (_, index): Said => [index % 2 === 0 ? 'list' : 'one-sentence', more]);
const praise = (count: number): readonly Said[] => Array.from({ length: count }, (): Said => ['praise']);

test('three contradictions among the latest verdicts anchor the teacher more strongly', () => {
  expect(anchorAfter(flips(2))).toBe(training.teacherAnchor);
  expect(anchorAfter(flips(3))).toBe(0.5);
  // of 24 verdicts, the first statement contradicts nothing
  expect(anchorAfter([...flips(3), ...praise(21)])).toBe(0.5);
  expect(anchorAfter([...flips(3), ...praise(22)])).toBe(training.teacherAnchor);
});

test('meanwhile the learning rate is lower', () => {
  const rateAfter = (count: number, changes: Partial<SubmitSettings>) =>
    settingsAfter(flips(count), changes).learningRate;
  expect(rateAfter(2, { conflictRate: 0.5 })).toBe(training.learningRate);
  expect(rateAfter(3, { conflictRate: 0.5 })).toBe(training.learningRate / 2);
  expect(rateAfter(3, {})).toBe(training.learningRate);
  const { conflictAnchor: _, ...rateAlone } = { ...settings, conflictRate: 0.5 };
  expect(batchOf(said(flips(3)), rateAlone)).toMatchObject({
    learningRate: training.learningRate / 2,
    teacherAnchor: training.teacherAnchor,
  });
  // Contradictions that are no longer counted would stay for ever.
  const { wishPatience: __, ...uncounted } = rateAlone;
  const later = (by: SubmitSettings) => batchOf([], by, runFold(submit, said(flips(3)), rateAlone).rows);
  expect(later(uncounted).learningRate).toBe(training.learningRate);
  expect(later(rateAlone).learningRate).toBe(training.learningRate / 2);
});

test('people who contradict each other are in conflict, too', () => {
  const other: More = { key: 'another' };
  expect(anchorAfter([['list'], ['no-list', other], ['list'], ['no-list', other]])).toBe(0.5);
});

test('only what people say contradicts', () => {
  expect(anchorAfter([['list'], ['shorter'], ['no-greeting'], ['list'], ['no-emoji']])).toBe(
    training.teacherAnchor,
  );
  // Wishes of one complaint do not contradict each other, however often it is repeated.
  const both: Said = ['list', { hints: [hintOf(['list', 'one-sentence'])] }];
  expect(anchorAfter([both, both, both, both, both])).toBe(training.teacherAnchor);
  expect(anchorAfter(flips(5, { inferred: true }))).toBe(training.teacherAnchor);
  expect(anchorAfter(flips(5, { source: 'reward' }))).toBe(training.teacherAnchor);
});

test('a stronger anchor of the settings stays, and without the setting nothing is counted', () => {
  expect(anchorAfter(flips(5), { training: { ...training, teacherAnchor: 0.8 } })).toBe(0.8);
  const { conflictAnchor: _, ...earlier } = settings;
  const isCounted = (by: SubmitSettings) => {
    const { rows } = runFold(submit, [sampleReady('a', 's', 0, { hints: ['A list, please.'] })], by);
    return [...rows.get('default')!.entries('conflict/')].length > 0;
  };
  expect([earlier, settings, { ...earlier, conflictRate: 0.5 }].map(isCounted)).toEqual([false, true, true]);
});
