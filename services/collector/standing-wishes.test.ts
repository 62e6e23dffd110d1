import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { hintOf, type WishKind } from '../../shared/wishes/wishes.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { sampleReady } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = {
  size: 1,
  maxStaleness: 4,
  training,
  wishPatience: 12,
  standingWishes: true,
};

type More = Partial<SampleReady['data']>;
const bad = (id: string, kinds: readonly WishKind[], more: More = {}) =>
  sampleReady(id, 's', 0, {
    verdict: -1,
    key: 'k',
    hints: kinds.length === 0 ? [] : [hintOf(kinds)],
    ...more,
  });
const good = (id: string, more: More = {}) => sampleReady(id, 's', 0, { verdict: 1, key: 'k', ...more });

/** The standing wishes of each sample in a batch that has room for all. */
function standing(
  events: readonly ReturnType<typeof bad>[],
  changes: Partial<SubmitSettings> = {},
): Readonly<Record<string, readonly string[] | undefined>> {
  const size = events.length;
  const { emitted } = runFold(submit, events, { ...settings, size, ...changes });
  const [batch] = emitted.filter(({ type }) => type === 'batch.submitted') as BatchSubmitted[];
  return Object.fromEntries(batch!.data.samples.map((sample) => [sample.sampleId, sample.standing]));
}

const both = ['no-list', 'no-greeting'];

test("only explicit verdicts take the person's earlier wishes", () => {
  expect(
    standing([
      good('early'),
      bad('a', ['no-list', 'no-greeting']),
      good('liked'),
      bad('vague', []),
      bad('own-words', [], { hints: ['Never say please!'] }),
      bad('again', ['no-list', 'shorter']),
      bad('words-after-a-thumb', ['no-greeting'], { verdict: 0 }),
      good('a-stranger', { key: 'another' }),
      good('with-words', { source: 'feedback', hints: [hintOf(['formal'])] }),
      good('rewarded', { source: 'reward' }),
      good('moved-on', { source: 'implicit', advantage: 0.25 }),
      good('a-call-before', { carried: 1 }),
      good('mean-of-votes', { soft: true }),
      bad('a-tool-failed', [], { evidence: 'tool' }),
    ]),
  ).toEqual({
    // The wishes in force when the batch is formed count.
    early: [...both, 'shorter'],
    a: ['shorter'],
    liked: [...both, 'shorter'],
    vague: [...both, 'shorter'],
    'own-words': [...both, 'shorter'],
    again: ['no-greeting'],
    'words-after-a-thumb': ['no-list', 'shorter'],
    'a-stranger': undefined,
    'with-words': undefined,
    rewarded: undefined,
    'moved-on': undefined,
    'a-call-before': undefined,
    'mean-of-votes': undefined,
    'a-tool-failed': undefined,
  });
});

test('a wish no longer stands once the person wishes the opposite', () => {
  const samples = [bad('a', ['list', 'no-greeting']), good('b'), bad('c', ['no-list'])];
  expect(standing(samples)).toMatchObject({ a: ['no-list'], b: both, c: ['no-greeting'] });
});

test('free-form hints and complaints without a wish do not stand', () => {
  const own = bad('a', [], { hints: ['Never say please!'] });
  expect(standing([own, bad('b', []), good('c')])).toMatchObject({ c: undefined });
});

test('a wish that is set aside does not stand', () => {
  const corrections = (count: number) =>
    Array.from({ length: count }, (_, index) => bad(`t${index}`, ['emoji'], { version: 0 }));
  expect(standing([...corrections(11), good('liked')])).toMatchObject({ liked: ['emoji'] });
  // The twelfth is dropped.
  const { emitted } = runFold(submit, [...corrections(12), good('liked')], { ...settings, size: 12 });
  const batch = emitted.find(({ type }) => type === 'batch.submitted') as BatchSubmitted;
  expect(batch.data.samples.at(-1)).toEqual({ sampleId: 'liked', at: { partition: 0, offset: 12 } });
});

test('a wish without complaints for long is met and no longer stands', () => {
  const praise = (count: number) => Array.from({ length: count }, (_, index) => good(`g${index}`));
  expect(standing([bad('a', ['no-list']), ...praise(11)])).toMatchObject({ g10: ['no-list'] });
  expect(standing([bad('a', ['no-list']), ...praise(12)])).toMatchObject({ g10: undefined, g11: undefined });
  expect(standing([bad('a', ['no-list']), ...praise(12), bad('b', ['no-list'])])).toMatchObject({
    g11: ['no-list'],
  });
  // A complaint about something else takes it for longer.
  const later = (count: number) => standing([bad('a', ['no-list']), ...praise(count), bad('b', ['shorter'])]);
  expect(later(18)).toMatchObject({ b: ['no-list'] });
  expect(later(19)).toMatchObject({ b: undefined });
});

test('of two contradicting wishes neither stands, and without a key none does', () => {
  // An inferred wish does not replace an explicit one.
  const guess = bad('b', ['no-list'], { inferred: true });
  expect(standing([bad('a', ['list', 'shorter']), guess, good('c')])).toMatchObject({ c: ['shorter'] });
  expect(standing([bad('a', ['only-answer']), bad('b', ['greeting']), good('c')])).toMatchObject({
    c: undefined,
  });
  const keyless = { key: undefined } as More;
  expect(standing([bad('a', ['list'], keyless), good('b', keyless)])).toMatchObject({ b: undefined });
});

test('without the setting, praise takes no wishes', () => {
  const { standingWishes: _, ...earlier } = settings;
  const events = [bad('a', ['no-list']), good('b')];
  const waiting = runFold(submit, events, { ...earlier, size: 3 });
  const rows = [...waiting.rows.get('default')!.entries('sample/')].map(([, row]) => row);
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).not.toHaveProperty('takes');
  const { emitted } = runFold(submit, events, { ...earlier, size: 2 });
  expect((emitted[0] as BatchSubmitted).data.samples.map((sample) => Object.keys(sample))).toEqual([
    ['sampleId', 'at'],
    ['sampleId', 'at'],
  ]);
});
