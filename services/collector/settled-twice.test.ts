import { expect, test } from 'vitest';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import { TurnsForgotten } from '../../shared/events/turns-forgotten.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { assemble } from './assemble.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { judgment, sampleReady, sampleWithdrawn, timeAt, turnCompleted } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = { size: 2, maxStaleness: 2, training };
const emittedLines = (...events: readonly InputEvent[]) =>
  runFold(submit, events, settings).emitted.map(brief);
const ready = (id: string) => sampleReady(id, `session of ${id}`);
const appended = (event: InputEvent, seconds: number): InputEvent => ({
  ...event,
  recorded: Date.parse(timeAt(0)) + 1000 * seconds,
});

const command = (id: string, minutes = 0) => ({ id, source: 'clawloop/trainer', time: timeAt(minutes) });
const promoted = (n: number, from: number, minutes = 0) =>
  PolicyPromoted.create({
    ...command(`p${n}`, minutes),
    data: {
      batchId: `default/batch/${n}`,
      adapter: 'default',
      from,
      to: n,
      checkpoint: `c${n}`,
      digest: `d${n}`,
    },
  });
const rejected = (n: number) =>
  PolicyRejected.create({
    ...command(`j${n}`),
    data: { batchId: `default/batch/${n}`, adapter: 'default', reason: 'not-finite', detail: '' },
  });

test('a copy of a sample is not a new one: while it waits, in a batch, and after', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(ready) as [InputEvent, InputEvent, InputEvent, InputEvent];
  expect(emittedLines(a, a, b)).toEqual(['batch 1 on v0: a b']);
  expect(emittedLines(a, b, a, b, rejected(1), a, b, c, d)).toEqual([
    'batch 1 on v0: a b',
    'batch 2 on v0: c d',
  ]);
  expect(emittedLines(a, b, promoted(1, 0), a, c, d)).toEqual(['batch 1 on v0: a b', 'batch 2 on v1: c d']);
  expect(emittedLines(a, sampleWithdrawn('a'), a, b)).toEqual(['dropped a: deleted']);
});

test('ids are forgotten after a day, once no batch would take the sample', () => {
  const rows = memoryRows();
  const fold = (event: InputEvent, offset: number) =>
    rows.apply(submit.on(rows, event, { partition: 0, offset }, settings).changes);
  const day = 24 * 60;
  const knownIds = () => [...rows.entries('known/')].map(([key]) => key.slice(6));
  let offset = 0;
  for (let n = 1; n <= 6; n++) {
    for (const id of [`a${n}`, `b${n}`])
      fold({ ...sampleReady(id, id, n - 1), time: timeAt(n * day) }, offset++);
    fold(promoted(n, n - 1, n * day), offset++);
  }
  expect(knownIds()).toEqual(['a4', 'a5', 'a6', 'b4', 'b5', 'b6']);
});

test('the pool of an earlier program is remembered, too', () => {
  const rows = memoryRows();
  const emitted: string[] = [];
  const fold = (event: InputEvent, offset: number) => {
    const { changes, emit } = submit.on(rows, event, { partition: 0, offset }, settings);
    rows.apply(changes);
    for (const fact of emit) if (!('reads' in fact)) emitted.push(brief(fact));
  };
  fold(ready('a'), 0);
  // Rows of an earlier program: no ids, and no mark that they are kept.
  const { remembers, ...row } = rows.get('submit/now') as { readonly remembers: true };
  rows.apply([
    { key: 'submit/now', row },
    { key: 'known/a', row: undefined },
  ]);
  fold(ready('a'), 1);
  expect([remembers, emitted]).toEqual([true, []]);
  fold(ready('b'), 2);
  expect(emitted).toEqual(['batch 1 on v0: a b']);
});

test('missing samples of a session delay batches for a minute only', () => {
  const last = (id: string, following: number) =>
    sampleReady(id, 'rewarded', 0, { source: 'reward', following });
  const events = [appended(last('x', 2), 0), appended(last('y', 1), 0), appended(ready('a'), 1)];
  expect(emittedLines(...events, appended(ready('b'), 59))).toEqual([]);
  expect(emittedLines(...events, appended(ready('b'), 61))).toEqual(['batch 1 on v0: x y']);
  // A copy of a sample of such a session does not block batches again.
  const whole = [appended(last('x', 1), 0), appended(last('y', 0), 0)];
  expect(emittedLines(...whole, appended(last('x', 1), 1), rejected(1), ready('a'), ready('b'))).toEqual([
    'batch 1 on v0: x y',
    'batch 2 on v0: a b',
  ]);
});

test('a turn that arrives again after its judgment makes no second sample', () => {
  const events = [turnCompleted('a'), judgment('a', 1), turnCompleted('a'), judgment('a', 1)];
  const settle = { atLeastOne: true };
  expect(runFold(assemble, events, settle).emitted.map(brief)).toEqual(['ready a: 1']);
  const { rows } = runFold(
    assemble,
    [
      ...events,
      TurnsForgotten.create({
        id: 'f',
        source: 'clawloop/collector',
        time: timeAt(0),
        data: { lane: 'lane', last: timeAt(0), by: 'l' },
      }),
    ],
    settle,
  );
  expect([...rows.get('lane')!.entries('settled')]).toEqual([]);
});
