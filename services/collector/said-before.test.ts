import { expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { hintOf, type WishKind } from '../../shared/wishes/wishes.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { sampleReady, timeAt } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = {
  size: 2,
  maxStaleness: 4,
  training,
  wishPatience: 12,
  standingWishes: true,
  conflictRate: 0.5,
};

type More = Partial<SampleReady['data']>;
const bad = (id: string, kind: WishKind, minute: number, more: More = {}) =>
  sampleReady(id, 's', 0, { verdict: -1, key: 'k', hints: [hintOf([kind])], said: timeAt(minute), ...more });
const good = (id: string, minute: number, more: More = {}) =>
  sampleReady(id, 's', 0, { verdict: 1, key: 'k', said: timeAt(minute), ...more });
const lines = (events: readonly SampleReady[], size = 2) =>
  runFold(submit, events, { ...settings, size }).emitted.map((event) => {
    if (event.type !== 'batch.submitted') return brief(event);
    const samples = event.data.samples.map(({ sampleId, standing }) =>
      [sampleId, ...(standing ?? [])].join('+'),
    );
    return ['batch', ...samples].join(' ');
  });

test('the wish that was said last counts, although its judgment came first', () => {
  const later = good('later', 3);
  expect(lines([bad('a', 'list', 1), bad('b', 'no-list', 2), later])).toEqual([
    'dropped a: contradicted',
    'batch b later+no-list',
  ]);
  expect(lines([bad('b', 'no-list', 2), bad('a', 'list', 1), later])).toEqual([
    'dropped a: contradicted',
    'batch b later+no-list',
  ]);
});

test('without times, as in logs of earlier programs, the wish that arrived last counts', () => {
  const untimed = (sample: SampleReady): SampleReady => {
    const { said: _, ...data } = sample.data;
    return { ...sample, data };
  };
  const events = [bad('b', 'no-list', 2), bad('a', 'list', 1), good('later', 3)].map(untimed);
  expect(lines(events)).toEqual(['dropped b: contradicted', 'batch a later+list']);
});

test('a late thumb that repeats an old hint neither revives its wish nor counts as a correction', () => {
  const [old, now] = [bad('a', 'list', 1, { verdict: 0 }), bad('b', 'no-list', 2)];
  const late = bad('a~1', 'list', 1, { repeats: true });
  expect(lines([old, now, late, good('later', 3)])).toEqual([
    'dropped a: contradicted',
    'dropped a~1: contradicted',
    'batch b later+no-list',
  ]);
  const many = Array.from({ length: 11 }, (_, index) => bad(`t${index}`, 'emoji', index));
  const repeated = many.map(({ data }) => bad(`${data.sampleId}~1`, 'emoji', 0, { repeats: true }));
  expect(lines([...many, ...repeated], 100)).toEqual([]); // set aside after twelve corrections
});

test('a wish that was misheard gives way to the one that it replaced', () => {
  const [before, misheard] = [bad('a', 'no-list', 1), bad('b', 'steps', 2)];
  const liked = good('b~1', 3);
  expect(lines([before, misheard, liked, good('later', 4)], 3)).toEqual([
    'dropped a: contradicted',
    'batch b b~1+no-list later+no-list',
  ]);
});

test('of several corrections, only the misheard one is taken back', () => {
  const events = [bad('a', 'no-list', 1), bad('b', 'no-list', 2), good('b~1', 3), good('later', 4)];
  expect(lines(events, 4)).toEqual(['batch a b b~1+no-list later+no-list']);
});
