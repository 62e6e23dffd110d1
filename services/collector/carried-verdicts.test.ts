import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import { revisedSampleId } from '../../shared/events/sample-id.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { type AssembleSettings, assemble } from './assemble.ts';
import {
  judgment,
  sessionClosed,
  timeAt,
  toolResult,
  turnCompleted,
  turnWithdrawn,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

/** A call of a tool whose result was shown by the interaction `next`. */
const call = (id: string, next: string) => {
  const turn = turnCompleted(id);
  return { ...turn, data: { ...turn.data, next: [toolResult('done')], from: next } };
};
const [first, second, answer] = [call('a', 'b'), call('b', 'c'), turnCompleted('c')];
const request = [first, second, answer];
const worked = [judgment('a', 0), judgment('b', 0)];

const run = (events: readonly ClawLoopEvent[], more: Partial<AssembleSettings> = {}) =>
  runFold(assemble, events, { atLeastOne: true, method: 'combine', carryDiscount: 0.5, ...more });
const told = (...input: Parameters<typeof run>) => run(...input).emitted.map(brief);
const samples = (events: readonly ClawLoopEvent[]) =>
  run(events).emitted.flatMap((event) =>
    event.type === 'sample.ready' ? [(event as SampleReady).data] : [],
  );

test('a call that worked and led to a praised answer has a good verdict, less the further it is from it', () => {
  const praised = [...request, ...worked, judgment('c', 1)];
  expect(told(praised)).toEqual(['ready a: 0.25', 'ready b: 0.5', 'ready c: 1']);
  const [a, b, c] = samples(praised);
  expect(a).toMatchObject({ evidence: 'tool', carried: 2, soft: false, hints: [], source: 'votes' });
  expect(b).toMatchObject({ evidence: 'tool', carried: 1 });
  expect(c).not.toHaveProperty('evidence');
  expect(c).not.toHaveProperty('carried');
});

test('the same in whatever order the judgments come', () => {
  const [a, b] = worked;
  expect(told([...request, judgment('c', 1), b!, a!])).toEqual([
    'ready c: 1',
    'ready b: 0.5',
    'ready a: 0.25',
  ]);
  expect(told([...request, a!, judgment('c', 1), b!])).toEqual([
    'ready a: 0.25',
    'ready c: 1',
    'ready b: 0.5',
  ]);
});

test('a call that is taken back while it waits takes its hint with it, and a later verdict trains nothing', () => {
  const revised = (n: number, score: number | null, hints: readonly string[]) =>
    JudgmentRevised.create({
      ...{ id: `b/judgment/${n}`, source: 'clawloop/test', time: timeAt(0) },
      data: { turnId: 'b', lane: 'lane', n, score, source: 'votes', votes: [], hints: [...hints], by: 'd' },
    });
  const hinted = [...request, ...worked, revised(1, null, ['No lists, please.'])];
  const gone = [...hinted, turnWithdrawn('b'), revised(2, -1, [])];
  expect(told(hinted, { revises: true })).toEqual(['ready b~1: 0']);
  expect(told(gone, { revises: true })).toEqual([
    'ready b~1: 0',
    'dropped b: deleted',
    'withdrawn sample b~1',
    'dropped b~2: deleted',
  ]);
});

test('a call that failed keeps its own verdict, and the one before it is not blamed for that', () => {
  const failed = judgment('b', -1);
  expect(told([...request, judgment('a', 0), failed, judgment('c', 1)])).toEqual([
    ...['ready b: -1', 'ready a: 0.25', 'ready c: 1'],
  ]);
  expect(samples([...request, failed])[0]).toMatchObject({ evidence: 'tool' });
});

test('a bare complaint goes back as praise does; one with a hint says what was wrong with the answer', () => {
  expect(told([...request, ...worked, judgment('c', -1)])).toEqual([
    ...['ready a: -0.25', 'ready b: -0.5', 'ready c: -1'],
  ]);
  const withHint = judgment('c', -1, { hints: ['Please be brief.'] });
  expect(told([...request, ...worked, withHint])).toEqual([
    ...['ready c: -1', 'dropped a: no-verdict', 'dropped b: no-verdict'],
  ]);
});

test('feedback goes back, also what was given on a call itself', () => {
  expect(told([...request, ...worked, judgment('c', 1, { source: 'feedback' })])[0]).toBe('ready a: 0.25');
  const thumb = judgment('b', 1, { source: 'feedback' });
  expect(told([...request, judgment('a', 0), thumb, judgment('c', 0)])).toEqual([
    ...['ready a: 0.5', 'ready b: 1', 'dropped c: no-verdict'],
  ]);
  expect(samples([...request, thumb])[0]).not.toHaveProperty('evidence');
});

test('an answer without a verdict leaves its calls without one', () => {
  const silent = [...request, ...worked, judgment('c', 0), sessionClosed()];
  expect(told(silent).toSorted()).toEqual(['a', 'b', 'c'].map((id) => `dropped ${id}: no-verdict`));
  expect(told([...request, ...worked, judgment('c', null), sessionClosed()]).toSorted()).toEqual([
    ...['dropped a: no-verdict', 'dropped b: no-verdict', 'dropped c: unavailable'],
  ]);
  // nobody ever saw the answer
  expect(told([first, second, ...worked, sessionClosed()]).toSorted()).toEqual([
    ...['dropped a: no-verdict', 'dropped b: no-verdict'],
  ]);
});

test('a verdict is handed back as far as it says something', () => {
  const ids = Array.from({ length: 6 }, (_, index) => `t${index}`);
  const calls = ids.map((id, index) => call(id, ids[index + 1] ?? 'end'));
  const events = [
    ...[...calls, turnCompleted('end')],
    ...ids.map((id) => judgment(id, 0)),
    ...[judgment('end', 1), sessionClosed()],
  ];
  expect(told(events).filter((one) => one.startsWith('ready'))).toEqual([
    ...['ready t3: 0.125', 'ready t4: 0.25', 'ready t5: 0.5', 'ready end: 1'],
  ]);
});

test('a call that is withdrawn while it waits never trains', () => {
  expect(told([...request, ...worked, turnWithdrawn('b'), judgment('c', 1)])).toEqual([
    ...['dropped b: deleted', 'ready a: 0.25', 'ready c: 1'],
  ]);
});

test('a thumb on a call that waits takes the place of what it waits for', () => {
  const thumb = JudgmentRevised.create({
    ...{ id: 'b/revised/1', source: 'clawloop/judge', time: timeAt(1) },
    data: {
      turnId: 'b',
      lane: 'lane',
      n: 1,
      score: 1,
      votes: [],
      source: 'feedback',
      hints: [],
      by: 'thumb',
    },
  });
  expect(told([...request, ...worked, thumb, judgment('c', 1)], { revises: true })).toEqual([
    ...['dropped b: corrected', `ready ${revisedSampleId('b', 1)}: 1`, 'ready a: 0.25', 'ready c: 1'],
  ]);
});

test('rows are gone once the session is settled', () => {
  for (const last of [judgment('c', 1), judgment('c', 0), judgment('c', null)]) {
    const { rows } = run([...request, ...worked, last, sessionClosed()]);
    expect([...rows.get('lane')!.entries('')].filter(([key]) => !key.startsWith('settled'))).toEqual([]);
  }
});

test('without the setting, as in logs of earlier programs, and where only hints teach, nothing is carried', () => {
  const events = [...request, ...worked, judgment('c', 1)];
  const settings = { atLeastOne: true, method: 'combine' } as const;
  expect(runFold(assemble, events, settings).emitted.map(brief)).toEqual([
    ...['ready c: 1', 'dropped a: no-verdict', 'dropped b: no-verdict'],
  ]);
  expect(told(events, { method: 'opd' })).toEqual(['a', 'b', 'c'].map((id) => `dropped ${id}: no-hint`));
});
