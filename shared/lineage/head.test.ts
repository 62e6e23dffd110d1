import { expect, test } from 'vitest';
import { BatchSubmitted } from '../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { PolicyPromoted } from '../events/policy-promoted.ts';
import { PolicyRejected } from '../events/policy-rejected.ts';
import { PolicyRolledBack } from '../events/policy-rolled-back.ts';
import { memoryRows, openDraft, type Rows } from '../log/rows.ts';
import { defaultTrainingSettings } from '../policy/train/training-defaults.ts';
import {
  applyHead,
  baseVersion,
  type HeadState,
  initialHead,
  lineage,
  openHead,
  staleness,
  viewOf,
} from './head.ts';
import { headFold } from './head-fold.ts';
import { headView } from './head-rows.ts';

const adapter = 'default';
const envelope = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });
const submitted = (n: number, parent: number) =>
  BatchSubmitted.create({
    ...envelope(`b${n}`),
    data: {
      batchId: `b${n}`,
      adapter,
      n,
      parent,
      size: 1,
      maxStaleness: 4,
      samples: [],
      seed: n,
      settings: defaultTrainingSettings('claw-nano').settings,
    },
  });
const promoted = (n: number, from: number) =>
  PolicyPromoted.create({
    ...envelope(`b${n}/promoted`),
    data: { batchId: `b${n}`, adapter, from, to: n, checkpoint: `c${n}`, digest: `d${n}` },
  });
const rejected = (n: number) =>
  PolicyRejected.create({
    ...envelope(`b${n}/rejected`),
    data: { batchId: `b${n}`, adapter, reason: 'not-finite', detail: '' },
  });
const rolledBack = (id: string, from: number, to: number) =>
  PolicyRolledBack.create({ ...envelope(id), data: { adapter, from, to } });

/** The whole state in rows, with every version and command. */
const headState = (rows: Rows): HeadState => {
  const { head, n, open } = headView(openDraft(rows));
  const table = (name: string) =>
    Object.fromEntries([...rows.entries(`${name}/`)].map(([key, row]) => [key.slice(name.length + 1), row]));
  return {
    head,
    n,
    open,
    versions: { 0: baseVersion, ...table('version') } as HeadState['versions'],
    commands: table('command') as HeadState['commands'],
  };
};

/** Folds events in memory and over rows, and expects the same state. */
function after(events: readonly ClawLoopEvent[]) {
  const state = events.reduce(applyHead, initialHead);
  const rows = memoryRows();
  for (const [offset, event] of events.entries())
    rows.apply(headFold.on(rows, event, { partition: 0, offset }, undefined).changes);
  expect(headState(rows)).toEqual(state);
  expect(headView(openDraft(rows)).open).toEqual(state.open);
  const followed = openHead();
  for (const event of events) followed.on(event);
  expect(followed.state()).toEqual(state);
  return state;
}
const step = (n: number, from: number) => [submitted(n, from), promoted(n, from)];

test('the head is v0 until a promotion; then readers know where each version is', () => {
  expect(after([]).head).toBe(0);
  const state = after([...step(1, 0), ...step(2, 1)]);
  expect(state).toMatchObject({ head: 2, n: 2, open: null });
  expect(lineage(viewOf(state), state.head)).toEqual([2, 1, 0]);
  expect(state.versions).toEqual({
    0: { parent: null, checkpoint: null, digest: null },
    1: { parent: 0, checkpoint: 'c1', digest: 'd1' },
    2: { parent: 1, checkpoint: 'c2', digest: 'd2' },
  });
});

test('a batch is open until its outcome; the first one in log order counts', () => {
  expect(after([submitted(1, 0)]).open?.batchId).toBe('b1');
  expect(after([submitted(1, 0), rejected(1), promoted(1, 0)])).toMatchObject({ head: 0, open: null });
  expect(after([submitted(1, 0), promoted(1, 0), rejected(1)])).toMatchObject({ head: 1, open: null });
});

test('a batch that is read again does not open again', () => {
  expect(after([...step(1, 0), submitted(1, 0)]).open).toBeNull();
});

test('an outcome of a batch that is not open changes nothing', () => {
  expect(after([promoted(1, 0)]).head).toBe(0);
  expect(after([...step(1, 0), submitted(2, 1), rejected(1)]).open?.batchId).toBe('b2');
});

test('a step in flight cannot undo a rollback: its promotion only closes the batch', () => {
  const state = after([...step(1, 0), submitted(2, 1), rolledBack('o', 1, 0), promoted(2, 1)]);
  expect(state).toMatchObject({ head: 0, open: null, n: 2 });
  expect(state.versions[2]).toBeUndefined();
});

test('a rollback also applies to versions built on `from`, once, and only from the head', () => {
  expect(after([...step(1, 0), ...step(2, 1), rolledBack('o', 1, 0)]).head).toBe(0);
  const again = [...step(1, 0), rolledBack('o', 1, 0), ...step(2, 0), rolledBack('o', 1, 0)];
  expect(after(again).head).toBe(2);
  expect(after([...step(1, 0), rolledBack('o', 1, 7)]).head).toBe(1);
  expect(after([...step(1, 0), rolledBack('o', 1, 0), rolledBack('p', 1, 0)]).head).toBe(0);
});

test('rolling forward again is possible', () => {
  expect(after([...step(1, 0), rolledBack('o', 1, 0), rolledBack('p', 0, 1)]).head).toBe(1);
});

test('staleness walks parents', () => {
  const view = viewOf(after([...step(1, 0), rolledBack('o', 1, 0), ...step(2, 0), ...step(3, 2)]));
  expect(lineage(view, 3)).toEqual([3, 2, 0]);
  expect(staleness(view, 0, 3)).toBe(2);
  expect(staleness(view, 3, 3)).toBe(0);
  expect(staleness(view, 1, 3)).toBe(-1);
});
