import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { memoryRows, type Rows } from '../../shared/log/rows.ts';
import { judgeFold } from './judge-fold.ts';
import { createOpenVotes } from './open-votes.ts';
import { sessionClosed, turnCompleted, voteCast, voteExpired } from './testing/events.ts';

function openLane(sharedQueue = false) {
  const rows = memoryRows();
  let now = 0;
  let offset = 0;
  const open = createOpenVotes(() => now, sharedQueue);
  const view = { subject: 'lane-1', partition: 0, rows };
  return {
    open,
    rows,
    view,
    wait: (ms: number) => {
      now += ms;
    },
    see: () => open.see([view]).map(({ id }) => id),
    fold: (...events: ClawLoopEvent[]) => {
      for (const event of events) {
        rows.apply(judgeFold.on(rows, event, { partition: 0, offset }, { votes: 2 }).changes);
        offset += 1;
      }
      return open.see([view]).map(({ id }) => id);
    },
  };
}
const job = (index: number) => ({
  id: `t/vote/${index}`,
  data: { turnId: 't', lane: 'lane-1', index, at: { partition: 0, offset: 0 } },
});

test('a vote is owed until it arrives, and not enqueued again while its event is pending', () => {
  const { open, fold, see } = openLane();
  expect(fold(turnCompleted('t'))).toEqual(['t/vote/0', 't/vote/1']);
  expect(open.isOwed(job(0))).toBe(true);
  open.markCast(job(0));
  expect(open.isOwed(job(0))).toBe(false);
  expect(see()).toEqual(['t/vote/1']);
  expect(fold(voteCast('t', 0, 1))).toEqual(['t/vote/1']);
  fold(voteCast('t', 1, 1));
  expect(open.isOwed(job(1))).toBe(false);
  expect(open.turns()).toBe(0);
});

test('a turn is overdue once after it was open in this process for the deadline', () => {
  const { open, fold, wait } = openLane();
  fold(turnCompleted('t'));
  wait(60);
  fold(voteCast('t', 0, 1), turnCompleted('later'), turnCompleted('rewarded', { settle: 'reward' }));
  wait(39);
  expect(open.overdue(100)).toEqual([]);
  wait(1);
  expect(open.overdue(100)).toEqual([{ turnId: 't', lane: 'lane-1' }]);
  expect(open.overdue(100)).toHaveLength(1); // not yet in the log
  open.markExpired('t');
  expect(open.overdue(100)).toEqual([]);
  fold(voteExpired('t'));
  wait(60);
  expect(open.overdue(100)).toEqual([{ turnId: 'later', lane: 'lane-1' }]);
});

test('a confirmed lane keeps its deadlines; a lane of another process is forgotten', () => {
  const { open, fold, wait, see } = openLane();
  fold(turnCompleted('t'));
  for (let minute = 0; minute < 10; minute++) {
    wait(60_000);
    see();
  }
  expect(open.overdue(600_000)).toHaveLength(1);
  wait(300_000);
  expect(open.overdue(600_000)).toEqual([]);
  expect(open.isOwed(job(0))).toBe(false);
});

test('a turn that waits for a reward is owed no votes', () => {
  const { open, fold, wait } = openLane();
  expect(fold(turnCompleted('r', { settle: 'reward' }), sessionClosed('other'))).toEqual([]);
  wait(1000);
  expect(open.overdue(1)).toEqual([]);
});

test('a vote is cast for a turn newer than the move of its partition', () => {
  const { open, fold } = openLane(true);
  fold(turnCompleted('t'));
  // the other process settled t, opened u and enqueued its votes: nothing of that is seen here
  const vote = (turnId: string, offset: number) => ({
    id: `${turnId}/vote/0`,
    data: { turnId, lane: 'lane-1', index: 0, at: { partition: 0, offset } },
  });
  expect(open.mayBeOwed(vote('u', 7))).toBe(true);
  expect(open.mayBeOwed(vote('t', 0))).toBe(true);
  fold(turnCompleted('v'), voteCast('t', 0, 1));
  expect(open.mayBeOwed(vote('t', 0))).toBe(false);
  expect(open.mayBeOwed(vote('u', 7))).toBe(true);
});

test('with a shared queue votes of other lanes are cast, but not settled ones', () => {
  const { open, fold } = openLane(true);
  expect(open.isOwed(job(0))).toBe(false);
  expect(open.mayBeOwed(job(0))).toBe(true);
  open.markCast(job(0));
  expect(open.mayBeOwed(job(0))).toBe(true); // this process never sees its lane, so it must not remember it
  fold(turnCompleted('t'), turnCompleted('u'), voteCast('t', 0, 1), voteCast('t', 1, 1));
  expect(open.mayBeOwed(job(0))).toBe(false);
  expect(openLane().open.mayBeOwed(job(0))).toBe(false);
});

test('the cost of a commit depends on its turns, not on the open turns of the lane', () => {
  const { rows, open, view } = openLane();
  const openTurns = 2_000;
  for (let index = 0; index < openTurns; index++) {
    const at = { partition: 0, offset: index };
    rows.apply(judgeFold.on(rows, turnCompleted(`t${index}`), at, { votes: 2 }).changes);
  }
  expect(open.see([view])).toHaveLength(2 * openTurns);
  let reads = 0;
  const counted: Rows = {
    get: (key) => {
      reads += 1;
      return rows.get(key);
    },
    entries: (prefix) => {
      reads += rows.size();
      return rows.entries(prefix);
    },
  };
  for (let index = 0; index < openTurns; index++) {
    const folded = judgeFold.on(rows, voteCast(`t${index}`, 0, 1), { partition: 0, offset: 1 }, { votes: 2 });
    rows.apply(folded.changes);
    const changed = folded.changes.map(({ key }) => key);
    expect(open.see([{ ...view, rows: counted, changed }]).map(({ id }) => id)).toEqual([`t${index}/vote/1`]);
  }
  expect(reads).toBeLessThan(10 * openTurns);
  expect(open.votes()).toBe(openTurns);
});

test('a settled turn is owed no votes; the other turns of its lane still are', () => {
  const { rows, open, view, fold } = openLane();
  fold(turnCompleted('t'), turnCompleted('u'));
  rows.apply(judgeFold.on(rows, voteExpired('t'), { partition: 0, offset: 2 }, { votes: 2 }).changes);
  expect(open.see([{ ...view, changed: ['turn/t'] }])).toEqual([]);
  expect(open.isOwed(job(0))).toBe(false);
  expect(open.turns()).toBe(1);
  expect(open.votes()).toBe(2);
});

test('the first view of a lane is read completely even if it lists changed rows', () => {
  const { rows, open, view } = openLane();
  for (const turnId of ['t', 'u'])
    rows.apply(judgeFold.on(rows, turnCompleted(turnId), { partition: 0, offset: 0 }, { votes: 1 }).changes);
  expect(open.see([{ ...view, changed: ['turn/u'] }]).map(({ id }) => id)).toEqual(['t/vote/0', 'u/vote/0']);
});
