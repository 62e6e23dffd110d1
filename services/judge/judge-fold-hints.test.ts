import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { hintCast, turnCompleted, voteCast, voteExpired, voteFailed } from './testing/events.ts';
import { judge, openRun } from './testing/run-judge.ts';

const withHints = { votes: 1, hintVotes: 2 };

test('a turn also waits for its hint votes and keeps their hints', () => {
  const run = openRun();
  run.on([turnCompleted('t')], withHints);
  expect(run.owed()).toEqual(['t/vote/0', 't/hint/0', 't/hint/1']);
  run.on([hintCast('t', 1), voteCast('t', 0, 0)]);
  expect(run.owed()).toEqual(['t/hint/0']);
  expect(run.emitted).toEqual([]);
  run.on([hintCast('t', 1, 'too late for this one'), hintCast('t', 0, 'Answer in plain sentences.')]);
  expect(run.emitted).toEqual([
    expect.objectContaining({ score: 0, hints: ['Answer in plain sentences.'], by: 't/hint/0' }),
  ]);
  expect(run.waiting()).toBe(0);
});

test('at the deadline a verdict counts without hints, but not hints without a verdict', () => {
  const expired = (...events: readonly ClawLoopEvent[]) =>
    judge([turnCompleted('t'), ...events, voteExpired('t')], withHints)[0]!;
  expect(expired(voteCast('t', 0, -1), hintCast('t', 1, 'Answer in plain sentences.'))).toMatchObject({
    score: -1,
    source: 'votes',
    hints: ['Answer in plain sentences.'],
  });
  expect(expired(hintCast('t', 0), hintCast('t', 1))).toMatchObject({ score: null, source: 'unavailable' });
});

test('a turn whose votes fail three times is set aside and owed no more votes', () => {
  const run = openRun();
  run.on([turnCompleted('t'), voteFailed('t', 1), voteFailed('t', 1), voteFailed('t', 2)]);
  expect(run.owed()).toEqual(['t/vote/0', 't/vote/1', 't/vote/2']);
  run.on([voteFailed('t', 3), voteFailed('t', 4), voteCast('t', 0, 1)]);
  expect(run.emitted).toMatchObject([
    { turnId: 't', score: null, source: 'unavailable', reason: 'vote-failed', by: 't/failed/3' },
  ]);
  expect(run.owed()).toEqual([]);
  expect(run.waiting()).toBe(0);
});

test('failed votes neither settle a turn with a reward nor revoke a verdict', () => {
  const failures = [1, 2, 3].map((nth) => voteFailed('t', nth));
  expect(judge([turnCompleted('t', { settle: 'reward' }), ...failures])).toEqual([]);
  const settings = { votes: 1, hintVotes: 1 };
  expect(judge([turnCompleted('t'), voteCast('t', 0, -1), ...failures], settings)).toMatchObject([
    { turnId: 't', score: -1, source: 'votes' },
  ]);
});
