import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defaultTrainingSettings } from '../../shared/policy/training-defaults.ts';
import { hintOf, type WishKind } from '../../shared/wishes/wishes.ts';
import { type SubmitSettings, submit } from './submit.ts';
import { sampleReady } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = {
  ...{ size: 1, maxStaleness: 4, training, wishPatience: 12 },
  standingWishes: true,
};

type More = Partial<SampleReady['data']>;
const bad = (id: string, kinds: readonly WishKind[], more: More = {}) =>
  sampleReady(id, 's', 0, {
    ...{ verdict: -1, key: 'k', hints: kinds.length === 0 ? [] : [hintOf(kinds)] },
    ...more,
  });
const good = (id: string, more: More = {}) => sampleReady(id, 's', 0, { verdict: 1, key: 'k', ...more });

/** The wishes that stand beside each sample of the one batch, which has room for all. */
function standing(
  events: readonly ReturnType<typeof bad>[],
  changes: Partial<SubmitSettings> = {},
): Readonly<Record<string, readonly string[] | undefined>> {
  const size = events.length;
  const { emitted } = runFold(submit, events, { ...settings, size, ...changes });
  const [batch] = emitted.filter(({ type }) => type === 'batch.submitted') as BatchSubmitted[];
  return Object.fromEntries(batch!.data.samples.map((sample) => [sample.sampleId, sample.standing]));
}

test('praise takes what its person has told, and nothing else does', () => {
  expect(
    standing([
      good('early'),
      bad('a', ['no-list', 'no-greeting']),
      good('liked'),
      bad('vague', []),
      good('a-stranger', { key: 'another' }),
      good('with-words', { source: 'feedback', hints: [hintOf(['shorter'])] }),
      good('rewarded', { source: 'reward' }),
    ]),
  ).toEqual({
    // it waits for the same batch: what stands when that is formed counts
    early: ['no-list', 'no-greeting'],
    a: undefined,
    liked: ['no-list', 'no-greeting'],
    vague: undefined,
    'a-stranger': undefined,
    'with-words': undefined,
    rewarded: undefined,
  });
});

test('a wish stands no more once the person told the contrary', () => {
  const told = [bad('a', ['list', 'no-greeting']), good('b'), bad('c', ['no-list'])];
  expect(standing(told)).toMatchObject({ b: ['no-list', 'no-greeting'] });
});

test('own words and complaints without a wish do not stand', () => {
  const own = bad('a', [], { hints: ['Never say please!'] });
  expect(standing([own, bad('b', []), good('c')])).toMatchObject({ c: undefined });
});

test('a wish that is set aside does not stand', () => {
  const corrections = (count: number) =>
    Array.from({ length: count }, (_, index) => bad(`t${index}`, ['emoji'], { version: 0 }));
  expect(standing([...corrections(11), good('liked')])).toMatchObject({ liked: ['emoji'] });
  // the twelfth is dropped
  const { emitted } = runFold(submit, [...corrections(12), good('liked')], { ...settings, size: 12 });
  const batch = emitted.find(({ type }) => type === 'batch.submitted') as BatchSubmitted;
  expect(batch.data.samples.at(-1)).toEqual({ sampleId: 'liked', at: { partition: 0, offset: 12 } });
});

test('a wish that nobody came back to for long is met, and stands no more', () => {
  const praise = (count: number) => Array.from({ length: count }, (_, index) => good(`g${index}`));
  expect(standing([bad('a', ['no-list']), ...praise(7)])).toMatchObject({ g6: ['no-list'] });
  expect(standing([bad('a', ['no-list']), ...praise(8)])).toMatchObject({ g6: undefined, g7: undefined });
  expect(standing([bad('a', ['no-list']), ...praise(8), bad('b', ['no-list'])])).toMatchObject({
    g7: ['no-list'],
  });
});

test('without the setting praise is praise alone, as in logs of earlier programs', () => {
  const { standingWishes: _, ...earlier } = settings;
  const events = [bad('a', ['no-list']), good('b')];
  const { emitted } = runFold(submit, events, { ...earlier, size: 2 });
  expect((emitted[0] as BatchSubmitted).data.samples.map((sample) => Object.keys(sample))).toEqual([
    ['sampleId', 'at'],
    ['sampleId', 'at'],
  ]);
});
