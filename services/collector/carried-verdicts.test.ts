import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import { revisedSampleId } from '../../shared/events/sample-id.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { assemble } from './assemble.ts';
import type { AssembleSettings } from './fold-settings.ts';
import {
  judgment,
  sessionClosed,
  timeAt,
  toolResult,
  turnCompleted,
  turnWithdrawn,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

/** A tool call whose result is in the interaction `next`. */
const call = (id: string, next: string) => {
  const turn = turnCompleted(id);
  return { ...turn, data: { ...turn.data, next: [toolResult('done')], from: next } };
};
const [first, second, answer] = [call('a', 'b'), call('b', 'c'), turnCompleted('c')];
const request = [first, second, answer];
const worked = [judgment('a', 0), judgment('b', 0)];

const run = (events: readonly ClawLoopEvent[], more: Partial<AssembleSettings> = {}) =>
  runFold(assemble, events, { atLeastOne: true, method: 'combine', carryDiscount: 0.5, ...more });
const emittedLines = (...input: Parameters<typeof run>) => run(...input).emitted.map(brief);
const samples = (events: readonly ClawLoopEvent[]) =>
  run(events).emitted.flatMap((event) =>
    event.type === 'sample.ready' ? [(event as SampleReady).data] : [],
  );

test('a call that led to a praised answer gets its verdict, discounted by distance', () => {
  const praised = [...request, ...worked, judgment('c', 1)];
  expect(emittedLines(praised)).toEqual(['ready a: 0.25', 'ready b: 0.5', 'ready c: 1']);
  const [a, b, c] = samples(praised);
  expect(a).toMatchObject({ evidence: 'tool', carried: 2, soft: false, hints: [], source: 'votes' });
  expect(b).toMatchObject({ evidence: 'tool', carried: 1 });
  expect(c).not.toHaveProperty('evidence');
  expect(c).not.toHaveProperty('carried');
});

test('the order of the judgments does not matter', () => {
  const [a, b] = worked;
  expect(emittedLines([...request, judgment('c', 1), b!, a!])).toEqual([
    'ready c: 1',
    'ready b: 0.5',
    'ready a: 0.25',
  ]);
  expect(emittedLines([...request, a!, judgment('c', 1), b!])).toEqual([
    'ready a: 0.25',
    'ready c: 1',
    'ready b: 0.5',
  ]);
});

/** A later judgment of the answer, by a thumb. */
const thumb = (n: number, score: number) =>
  JudgmentRevised.create({
    id: `c/judgment/${n}`,
    source: 'clawloop/test',
    time: timeAt(0),
    data: { turnId: 'c', lane: 'lane', n, score, source: 'feedback', votes: [], hints: [], by: `d${n}` },
  });
const revising = { revises: true, carriesRevised: true } as const;

test('a revised verdict on the answer replaces that of the calls', () => {
  const praised = [...request, ...worked, judgment('c', 1)];
  const before = ['ready a: 0.25', 'ready b: 0.5', 'ready c: 1'];
  expect(emittedLines([...praised, thumb(1, -1)], revising)).toEqual([
    ...before,
    ...['withdrawn sample b', 'ready b~5: -0.5', 'withdrawn sample a', 'ready a~5: -0.25'],
    ...['withdrawn sample c', 'ready c~1: -1'],
  ]);
  expect(emittedLines([...praised, thumb(1, -1), thumb(2, 1)], revising).slice(-6)).toEqual([
    ...['withdrawn sample b~5', 'ready b~6: 0.5', 'withdrawn sample a~5', 'ready a~6: 0.25'],
    ...['withdrawn sample c~1', 'ready c~2: 1'],
  ]);
  expect(emittedLines([...praised, thumb(1, -1)], { revises: true })).toEqual([
    ...before,
    ...['withdrawn sample c', 'ready c~1: -1'],
  ]);
});

test('calls before an answer without a verdict get that of a later thumb', () => {
  const heard = [...request, ...worked, judgment('c', 0), thumb(1, 1)];
  const lines = emittedLines(heard, revising);
  expect(lines).toEqual(expect.arrayContaining(['ready b~5: 0.5', 'ready a~5: 0.25', 'ready c~1: 1']));
  expect(lines.filter((line) => line.startsWith('ready'))).toHaveLength(3);
});

test('a call that is judged after the thumb gets its verdict, and one with its own keeps that', () => {
  const [a] = worked;
  const late = [...request, a!, judgment('c', 1), thumb(1, -1), judgment('b', 0)];
  expect(emittedLines(late, revising).at(-1)).toBe('ready b: -0.5');
  const failed = [...request, a!, judgment('b', -1), judgment('c', 1), thumb(1, -1)];
  const lines = emittedLines(failed, revising);
  expect(lines.filter((line) => line.includes(' b'))).toEqual(['ready b: -1']);
  const own = JudgmentRevised.create({
    ...thumb(1, 1),
    id: 'b/judgment/1',
    data: { ...thumb(1, 1).data, turnId: 'b' },
  });
  const both = [...request, ...worked, judgment('c', 1), own, thumb(2, -1)];
  expect(emittedLines(both, revising).filter((line) => line.includes(' b'))).toEqual([
    'ready b: 0.5',
    'withdrawn sample b',
    'ready b~1: 1',
  ]);
});

test('a withdrawn call takes its hint with it; a later verdict trains nothing', () => {
  const revised = (n: number, score: number | null, hints: readonly string[]) =>
    JudgmentRevised.create({
      id: `b/judgment/${n}`,
      source: 'clawloop/test',
      time: timeAt(0),
      data: { turnId: 'b', lane: 'lane', n, score, source: 'votes', votes: [], hints: [...hints], by: 'd' },
    });
  const hinted = [...request, ...worked, revised(1, null, ['No lists, please.'])];
  const gone = [...hinted, turnWithdrawn('b'), revised(2, -1, [])];
  expect(emittedLines(hinted, { revises: true })).toEqual(['ready b~1: 0']);
  expect(emittedLines(gone, { revises: true })).toEqual([
    'ready b~1: 0',
    'dropped b: deleted',
    'withdrawn sample b~1',
    'dropped b~2: deleted',
  ]);
});

test('a failed call keeps its own verdict, and the call before it is not blamed', () => {
  const failed = judgment('b', -1);
  expect(emittedLines([...request, judgment('a', 0), failed, judgment('c', 1)])).toEqual([
    'ready b: -1',
    'ready a: 0.25',
    'ready c: 1',
  ]);
  expect(samples([...request, failed])[0]).toMatchObject({ evidence: 'tool' });
});

test('a bare complaint is carried back; one with a hint is not', () => {
  expect(emittedLines([...request, ...worked, judgment('c', -1)])).toEqual([
    'ready a: -0.25',
    'ready b: -0.5',
    'ready c: -1',
  ]);
  const withHint = judgment('c', -1, { hints: ['Please be brief.'] });
  expect(emittedLines([...request, ...worked, withHint])).toEqual([
    'ready c: -1',
    'dropped a: no-verdict',
    'dropped b: no-verdict',
  ]);
});

test('feedback is carried back, including feedback on a call itself', () => {
  expect(emittedLines([...request, ...worked, judgment('c', 1, { source: 'feedback' })])[0]).toBe(
    'ready a: 0.25',
  );
  const thumb = judgment('b', 1, { source: 'feedback' });
  expect(emittedLines([...request, judgment('a', 0), thumb, judgment('c', 0)])).toEqual([
    'ready a: 0.5',
    'ready b: 1',
    'dropped c: no-verdict',
  ]);
  expect(samples([...request, thumb])[0]).not.toHaveProperty('evidence');
});

test('an answer without a verdict leaves its calls without one', () => {
  const silent = [...request, ...worked, judgment('c', 0), sessionClosed()];
  expect(emittedLines(silent).toSorted()).toEqual(['a', 'b', 'c'].map((id) => `dropped ${id}: no-verdict`));
  expect(emittedLines([...request, ...worked, judgment('c', null), sessionClosed()]).toSorted()).toEqual([
    'dropped a: no-verdict',
    'dropped b: no-verdict',
    'dropped c: unavailable',
  ]);
  // The person never saw the answer.
  expect(emittedLines([first, second, ...worked, sessionClosed()]).toSorted()).toEqual([
    'dropped a: no-verdict',
    'dropped b: no-verdict',
  ]);
});

test('a verdict is carried back until it is too weak', () => {
  const ids = Array.from({ length: 6 }, (_, index) => `t${index}`);
  const calls = ids.map((id, index) => call(id, ids[index + 1] ?? 'end'));
  const events = [
    ...calls,
    turnCompleted('end'),
    ...ids.map((id) => judgment(id, 0)),
    judgment('end', 1),
    sessionClosed(),
  ];
  expect(emittedLines(events).filter((one) => one.startsWith('ready'))).toEqual([
    'ready t3: 0.125',
    'ready t4: 0.25',
    'ready t5: 0.5',
    'ready end: 1',
  ]);
});

test('a call withdrawn while it waits never trains', () => {
  expect(emittedLines([...request, ...worked, turnWithdrawn('b'), judgment('c', 1)])).toEqual([
    'dropped b: deleted',
    'ready a: 0.25',
    'ready c: 1',
  ]);
});

test('feedback on a waiting call replaces the verdict that it waits for', () => {
  const thumb = JudgmentRevised.create({
    id: 'b/revised/1',
    source: 'clawloop/judge',
    time: timeAt(1),
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
  expect(emittedLines([...request, ...worked, thumb, judgment('c', 1)], { revises: true })).toEqual([
    'dropped b: corrected',
    `ready ${revisedSampleId('b', 1)}: 1`,
    'ready a: 0.25',
    'ready c: 1',
  ]);
});

test('a settled session leaves no rows', () => {
  for (const last of [judgment('c', 1), judgment('c', 0), judgment('c', null)]) {
    const { rows } = run([...request, ...worked, last, sessionClosed()]);
    expect([...rows.get('lane')!.entries('')].filter(([key]) => !key.startsWith('settled'))).toEqual([]);
  }
});

test('without the setting, and with opd, nothing is carried', () => {
  const events = [...request, ...worked, judgment('c', 1)];
  const settings = { atLeastOne: true, method: 'combine' } as const;
  expect(runFold(assemble, events, settings).emitted.map(brief)).toEqual([
    'ready c: 1',
    'dropped a: no-verdict',
    'dropped b: no-verdict',
  ]);
  expect(emittedLines(events, { method: 'opd' })).toEqual(
    ['a', 'b', 'c'].map((id) => `dropped ${id}: no-hint`),
  );
});
