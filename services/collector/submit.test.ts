import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { batchSeed, submit, waitingSamples } from './submit.ts';
import { sampleReady, sampleWithdrawn } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import { paused, promoted, rejected, requested, resumed, rolledBack } from './testing/version-events.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = { size: 2, maxStaleness: 2, training };
const emittedLines = (events: readonly ClawLoopEvent[], more: Partial<SubmitSettings> = {}) =>
  runFold(submit, events, { ...settings, ...more }).emitted.map(brief);

const ready = (...ids: readonly string[]) => ids.map((id) => sampleReady(id, `session of ${id}`));

test('enough samples form a batch with all settings and its own seed', () => {
  const { emitted } = runFold(submit, ready('a', 'b'), settings);
  expect(emitted).toHaveLength(1);
  expect(emitted[0]).toMatchObject({
    id: 'default/batch/1',
    data: {
      n: 1,
      parent: 0,
      size: 2,
      settings: training,
      seed: batchSeed('default', 1),
      samples: [
        { sampleId: 'a', at: { partition: 0, offset: 0 } },
        { sampleId: 'b', at: { partition: 0, offset: 1 } },
      ],
    },
  });
});

test('a withdrawn sample enters no batch; one in a batch stays there', () => {
  const [a, b, c] = ready('a', 'b', 'c') as [ClawLoopEvent, ClawLoopEvent, ClawLoopEvent];
  const gone = sampleWithdrawn('a');
  expect(emittedLines([a, gone, gone, b, c])).toEqual(['dropped a: deleted', 'batch 1 on v0: b c']);
  expect(emittedLines([a, b, gone, c])).toEqual(['batch 1 on v0: a b']);
  expect(emittedLines([a, gone, requested(0), b])).toEqual(['dropped a: deleted', 'batch 1 on v0: b']);
});

test('only one batch is open at a time; its outcome allows the next', () => {
  const events = ready('a', 'b', 'c', 'd', 'e');
  expect(emittedLines(events)).toEqual(['batch 1 on v0: a b']);
  expect(emittedLines([...events, rejected(1)])).toEqual(['batch 1 on v0: a b', 'batch 2 on v0: c d']);
  expect(emittedLines([...events, promoted(1, 0)])).toEqual(['batch 1 on v0: a b', 'batch 2 on v1: c d']);
});

test('reading its own batch back changes nothing, even after the outcome', () => {
  const { emitted } = runFold(submit, ready('a', 'b'), settings);
  expect(emittedLines([...ready('a', 'b'), rejected(1), emitted[0]!, ...ready('c', 'd')])).toEqual([
    'batch 1 on v0: a b',
    'batch 2 on v0: c d',
  ]);
});

test('no session has more than half while others have samples', () => {
  const session = (id: string) => sampleReady(id, 's');
  expect(
    emittedLines([
      paused('p'),
      session('a'),
      session('b'),
      sampleReady('c', 't'),
      session('d'),
      resumed('q'),
    ]),
  ).toEqual(['batch 1 on v0: a c']);
  expect(emittedLines([session('a'), session('b')])).toEqual(['batch 1 on v0: a b']);
  expect(
    emittedLines([paused('p'), sampleReady('x', 't'), ...['a', 'b', 'c', 'd'].map(session), resumed('q')], {
      size: 4,
    }),
  ).toEqual(['batch 1 on v0: x a b c']);
});

const rewardedSession = (name: string, ...ids: readonly string[]) =>
  ids.map((id, index) => sampleReady(id, name, 0, { source: 'reward', following: ids.length - 1 - index }));

test('rewarded samples of a session train in one batch, however many there are', () => {
  const [s, t] = [rewardedSession('s', 'a', 'b', 'c'), rewardedSession('t', 'd', 'e', 'f')];
  expect(emittedLines([...s, ...t])).toEqual(['batch 1 on v0: a b c']);
  expect(emittedLines([...s, ...t, rejected(1)]).at(-1)).toBe('batch 2 on v0: d e f');
  // Several partitions: mixed, but each session in order.
  expect(emittedLines([s[0]!, t[0]!, s[1]!, t[1]!, s[2]!])).toEqual([]);
  expect(emittedLines([s[0]!, t[0]!, s[1]!, t[1]!, s[2]!, t[2]!])).toEqual(['batch 1 on v0: a b c']);
  expect(emittedLines([...rewardedSession('u', 'x'), ...s])).toEqual(['batch 1 on v0: x a b c']);
  expect(emittedLines([...ready('o'), requested(0), ...s])).toEqual(['batch 1 on v0: o']);
});

test('a batch exceeds its size if waiting samples would otherwise become stale', () => {
  const eight = ready('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const resumedSamples = [paused('p'), ...eight, resumed('q')];
  const inTurn = (count: number) => Array.from({ length: count }, (_, n) => promoted(n + 1, n));
  const trains = (most: number, maxStaleness = 2) =>
    emittedLines([...resumedSamples, ...inTurn(2)], { most, maxStaleness });
  expect(trains(8)).toEqual(['batch 1 on v0: a b c', 'batch 2 on v1: d e f', 'batch 3 on v2: g h']);
  // If even that is not enough, the newest train.
  expect(trains(2)).toEqual(['batch 1 on v0: g h', 'batch 2 on v1: e f', 'batch 3 on v2: c d']);
  expect(trains(8, 4)).toEqual(['batch 1 on v0: a b', 'batch 2 on v1: c d', 'batch 3 on v2: e f']);
  const fresh = ['x', 'y', 'z'].map((id) => sampleReady(id, id, 1));
  const old = [...ready('a', 'b'), paused('p'), ...ready('c', 'd', 'e'), promoted(1, 0)];
  const mixed = [...old, ...fresh, resumed('q'), promoted(2, 1)];
  expect(emittedLines(mixed, { maxStaleness: 1, most: 8 }).slice(1)).toEqual([
    'batch 2 on v1: c d e',
    'batch 3 on v2: x y z',
  ]);
  expect(emittedLines(mixed, { maxStaleness: 1 })[1]).toBe('batch 2 on v1: y z');
});

test("a person's newest samples train; older ones that could not fit never do", () => {
  const person = ['a', 'b', 'c', 'd', 'e'].map((id) => sampleReady(id, `session of ${id}`, 0, { key: 'p' }));
  const other = sampleReady('o', 'session of o', 0, { key: 'q' });
  const events = [paused('p'), other, ...person, resumed('q'), promoted(1, 0)];
  expect(emittedLines(events, { maxStaleness: 1, most: 2 })).toEqual([
    'batch 1 on v0: o e',
    'dropped a: stale',
    'dropped b: stale',
    'dropped c: stale',
    'dropped d: stale',
  ]);
  expect(emittedLines(events, { maxStaleness: 2, most: 2 })).toEqual([
    'batch 1 on v0: o a',
    'batch 2 on v1: b c',
  ]);
});

test('pausing stops batches, not collecting; a late copy of a pause does not pause again', () => {
  expect(emittedLines([paused('p'), ...ready('a', 'b')])).toEqual([]);
  expect(emittedLines([paused('p'), ...ready('a', 'b'), resumed('q')])).toEqual(['batch 1 on v0: a b']);
  expect(emittedLines([paused('p'), resumed('q'), paused('p'), ...ready('a', 'b')])).toEqual([
    'batch 1 on v0: a b',
  ]);
});

test('a request makes a smaller batch, now or with the next sample, unless outdated', () => {
  expect(emittedLines([...ready('a'), requested(0)])).toEqual(['batch 1 on v0: a']);
  expect(emittedLines([requested(0), ...ready('a')])).toEqual(['batch 1 on v0: a']);
  expect(emittedLines([...ready('a', 'b'), rejected(1), requested(0), ...ready('c')])).toEqual([
    'batch 1 on v0: a b',
  ]);
});

test('staleness is steps along the lineage: too old is stale, rolled back is off-lineage', () => {
  const steps = [1, 2, 3].flatMap((n) => [...ready(`${n}x`, `${n}y`), promoted(n, n - 1)]);
  const old = sampleReady('old', 's', 0);
  expect(emittedLines([...steps, old], { maxStaleness: 3 }).at(-1)).toBe('batch 3 on v2: 3x 3y');
  expect(emittedLines([...steps, old], { maxStaleness: 2 }).at(-1)).toBe('dropped old: stale');
  const made = sampleReady('made', 's', 3);
  expect(emittedLines([...steps, made, rolledBack('o', 3, 1)], { maxStaleness: 9 }).at(-1)).toBe(
    'dropped made: off-lineage',
  );
});

test('version numbers are never reused, and staleness does not subtract them', () => {
  const events = [
    ...ready('a', 'b'),
    promoted(1, 0),
    rolledBack('o', 1, 0),
    ...ready('c', 'd'),
    promoted(2, 0),
  ];
  expect(emittedLines(events)).toEqual(['batch 1 on v0: a b', 'batch 2 on v0: c d']);
  const next = [sampleReady('e', 's', 2), sampleReady('f', 't', 0)];
  expect(emittedLines([...events, ...next], { maxStaleness: 1 }).at(-1)).toBe('batch 3 on v2: e f');
});

test('a tighter bound drops waiting samples at the position where it takes effect', () => {
  const first = runFold(submit, [...ready('a', 'b'), promoted(1, 0), ...ready('c')], settings);
  const rows = first.rows.get('default')!;
  const { emit } = submit.on(
    rows,
    resumed('q'),
    { partition: 0, offset: 9 },
    { ...settings, maxStaleness: 0 },
  );
  expect(emit.map((fact) => ('reads' in fact ? '' : brief(fact)))).toEqual(['dropped c: stale']);
});

test('the sweeper sees waiting samples, except while paused or while a batch is open', () => {
  const rowsAfter = (events: readonly ClawLoopEvent[]) =>
    waitingSamples(runFold(submit, events, settings).rows.get('default')!);
  expect(rowsAfter(ready('a'))).toEqual({ n: 0, eligible: 1 });
  expect(rowsAfter(ready('a', 'b', 'c'))).toBeUndefined();
  expect(rowsAfter([paused('p'), ...ready('a')])).toBeUndefined();
});

test('method and distillation of an adapter are in its batches', () => {
  const formed = (more: Partial<SubmitSettings>) => {
    const [batch] = runFold(submit, ready('a', 'b'), { ...settings, ...more }).emitted;
    return batch?.type === 'batch.submitted' ? batch.data.settings : undefined;
  };
  const own = { adapterMethods: { default: 'opd' }, adapterDistillation: { default: 'topk' } } as const;
  expect(formed(own)).toEqual({ ...training, method: 'opd', distillation: 'topk' });
  expect(formed({ adapterDistillation: { other: 'topk' } })).toEqual(training);
});
