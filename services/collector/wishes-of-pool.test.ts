import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { hintOf, type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit, waitingSamples } from './submit.ts';
import { sampleReady } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = { size: 2, maxStaleness: 4, training, wishPatience: 12 };

const bad = (id: string, hint?: string, key = 'k', version = 0) =>
  sampleReady(id, `session of ${id}`, version, { verdict: -1, key, hints: hint === undefined ? [] : [hint] });
const promoted = (n: number) =>
  PolicyPromoted.create({
    id: `p${n}`,
    source: 'clawloop/trainer',
    time: '2026-01-01T00:00:00Z',
    data: {
      batchId: `default/batch/${n}`,
      adapter: 'default',
      from: n - 1,
      to: n,
      checkpoint: `c${n}`,
      digest: `d${n}`,
    },
  });
const paused = LearningPaused.create({
  id: 'p',
  source: 'clawloop/cli',
  time: '2026-01-01T00:00:00Z',
  data: { adapter: 'default' },
});

/** A person who complains about every answer of the served version; each batch produces a version. */
function complains(count: number, hint: (index: number) => string | undefined) {
  const events = Array.from({ length: count }, (_, index) => [
    bad(`t${index}`, hint(index), 'k', Math.min(5, Math.floor(index / 2))),
    ...(index % 2 === 1 && index < 11 ? [promoted((index + 1) / 2)] : []),
  ]).flat();
  return runFold(submit, events, settings).emitted;
}

test.each([
  ['a known wish', wishes.emoji.hint, 'emoji'],
  ['words of a person', 'Never say please!', 'own:'],
  ['no wish at all', undefined, 'none'],
])('%s that is never met is set aside within ten steps, with its numbers', (_, hint, name) => {
  const emitted = complains(60, () => hint);
  const batches = emitted.filter(({ type }) => type === 'batch.submitted');
  expect(batches.length).toBeLessThanOrEqual(6);
  const setAside = emitted.filter(({ type }) => type === 'wish.set-aside');
  expect(setAside).toHaveLength(1);
  expect(setAside[0]).toMatchObject({
    id: expect.stringContaining(`t11/set-aside/${name}`),
    data: { key: 'k', wish: expect.stringContaining(name), corrections: 12, good: 0, by: 't11/ready' },
  });
  const dropped = emitted.filter(({ type }) => type === 'sample.dropped');
  expect(dropped).toHaveLength(49);
  expect(dropped[0]).toMatchObject({
    data: { sampleId: 't11', reason: 'set-aside', rule: expect.stringContaining('12 corrections') },
  });
});

test('without patience nothing is set aside', () => {
  const { wishPatience: _, ...earlier } = settings;
  const events = Array.from({ length: 20 }, (_, index) => bad(`t${index}`, wishes.emoji.hint));
  const { emitted } = runFold(submit, events, earlier);
  expect(emitted.map(({ type }) => type)).toEqual(['batch.submitted']);
  expect((emitted[0] as BatchSubmitted).data.samples[0]).not.toHaveProperty('without');
});

test('a sample that also has another wish trains for that alone', () => {
  const both = hintOf(['emoji', 'shorter']);
  const emitted = complains(13, (index) => (index < 12 ? wishes.emoji.hint : both));
  const last = emitted.findLast(({ type }) => type === 'batch.submitted') as BatchSubmitted;
  // t11 was dropped, so t10 waits for t12.
  expect(last.data.samples.map(({ sampleId, without }) => [sampleId, without])).toEqual([
    ['t10', undefined],
    ['t12', ['emoji']],
  ]);
});

const emittedLines = (
  ...samples: readonly (readonly [id: string, kinds: readonly WishKind[], key?: string])[]
) => {
  const events = [paused, ...samples.map(([id, kinds, key]) => bad(id, hintOf(kinds), key))];
  const { emitted } = runFold(submit, events, { ...settings, size: 9 });
  return emitted.map(brief);
};

test('the latest wish wins: waiting samples that contradict it are dropped', () => {
  expect(emittedLines(['a', ['list']], ['b', ['no-list']])).toEqual(['dropped a: contradicted']);
  expect(emittedLines(['a', ['list']], ['b', ['shorter']])).toEqual([]);
  expect(emittedLines(['a', ['list'], 'anna'], ['b', ['no-list'], 'bert'])).toEqual([]);
  expect(emittedLines(['a', ['list', 'no-greeting']], ['b', ['no-list']])).toEqual([]);
  expect(emittedLines(['a', ['list', 'no-greeting']], ['b', ['no-list']], ['c', ['greeting']])).toEqual([
    'dropped a: contradicted',
  ]);
});

test('an inferred hint contradicts nothing that the person said', () => {
  const guess = sampleReady('b', 's', 0, {
    verdict: -1,
    key: 'k',
    hints: [wishes['no-list'].hint],
    inferred: true,
  });
  const { emitted } = runFold(submit, [paused, bad('a', wishes.list.hint), guess], settings);
  expect(emitted.map(brief)).toEqual([]);
});

test('the batch leaves out the contradicted one of two waiting wishes', () => {
  const { emitted } = runFold(
    submit,
    [bad('a', hintOf(['list', 'no-greeting'])), bad('b', wishes['no-list'].hint)],
    settings,
  );
  expect(
    (emitted[0] as BatchSubmitted).data.samples.map(({ sampleId, without }) => [sampleId, without]),
  ).toEqual([
    ['a', ['list']],
    ['b', undefined],
  ]);
});

test('wishes of samples that left the pool do not count as waiting', () => {
  const { rows } = runFold(submit, [bad('a', wishes.list.hint), bad('b', wishes['no-list'].hint)], {
    ...settings,
    size: 3,
  });
  expect(waitingSamples(rows.get('default')!)).toEqual({ n: 0, eligible: 1 });
});
