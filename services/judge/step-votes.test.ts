import { expect, test } from 'vitest';
import { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { defined } from '../../shared/lang/defined.ts';
import {
  sessionClosed,
  turnCompleted,
  turnWithdrawn,
  voteCast,
  voteExpired,
  voteFailed,
} from './testing/events.ts';
import { judge, openRun } from './testing/run-judge.ts';

const process = { votes: 3, weight: 0.5 };
const step = (more: Parameters<typeof turnCompleted>[2] = {}) =>
  turnCompleted('t', { settle: 'reward' }, { process, ...more });
const votes = ([...cast]: Parameters<typeof voteCast>[2][]) =>
  cast.map((vote, index) => voteCast('t', index, vote, 'A hint that nobody asked for.'));
const against = { baseline: 0.2, scale: 2 };
const returned = (compared: TurnFeedback['data']['process'] = against, advantage?: number) =>
  TurnFeedback.create({
    id: 't/return',
    source: 'clawloop/test',
    time: '2026-01-02T03:04:05.000Z',
    data: {
      turnId: 't',
      lane: 'lane-1',
      score: 1,
      given: 'end',
      return: { own: null, parent: null, discount: 1 },
      ...defined({ process: compared, advantage }),
    },
  });

test('a step is owed the votes that its session asked for, and no hints', () => {
  const run = openRun();
  run.on([step()], { votes: 1, hintVotes: 1 });
  expect(run.owed()).toEqual(['t/vote/0', 't/vote/1', 't/vote/2']);
  run.on(votes([1, 1, 1]));
  expect(run.owed()).toEqual([]);
  expect(run.emitted).toEqual([]);
});

test('its judgment waits for the return and for all votes, whichever is last', () => {
  const judgment = {
    turnId: 't',
    source: 'reward+process',
    score: 1,
    mean: 1,
    votes: [1, null, -1],
    needs: 3,
    hints: [],
    process: { mean: 0, weight: 0.5, ...against, part: -0.05, earned: 't/return' },
  };
  const cast = votes([1, null, -1]);
  const last = judge([step(), ...cast, returned(against, 0.75), sessionClosed()]);
  expect(last).toEqual([expect.objectContaining({ ...judgment, advantage: 0.7, by: 't/return' })]);
  const first = judge([step(), returned(against, 0.75), sessionClosed(), ...cast, returned(against, 0.9)]);
  expect(first).toEqual([expect.objectContaining({ ...judgment, advantage: 0.7, by: 't/vote/2' })]);
});

test('without an advantage the votes are added to the return', () => {
  const [judgment] = judge([step(), ...votes([1, 1, -1]), returned({ baseline: 0, scale: 1 })]);
  expect(judgment).toMatchObject({ score: 1 + 0.5 / 3, mean: 1 + 0.5 / 3, source: 'reward+process' });
  expect(judgment).not.toHaveProperty('advantage');
});

const alone = { score: 1, source: 'reward', advantage: 0.75, process: { mean: null, part: 0 } };

test('votes that miss the deadline leave the return alone, also those that had come', () => {
  const events = [step(), voteCast('t', 0, -1), voteExpired('t'), voteCast('t', 1, -1), voteCast('t', 2, -1)];
  const run = openRun();
  run.on(events);
  expect(run.owed()).toEqual([]);
  expect(run.on([returned(against, 0.75)])).toMatchObject([{ ...alone, votes: [-1], by: 't/return' }]);
  const late = judge([step(), returned(against, 0.75), sessionClosed(), voteExpired('t')]);
  expect(late).toMatchObject([{ ...alone, votes: [], by: 't/expired' }]);
  const inTime = judge([step(), ...votes([1, 1, 1]), voteExpired('t'), returned(against, 0.75)]);
  expect(inTime).toMatchObject([{ source: 'reward+process', process: { mean: 1 } }]);
});

test('three votes that break the judge leave the return alone', () => {
  const failures = [0, 1, 2].map((nth) => voteFailed('t', nth));
  expect(judge([step(), ...failures, returned(against, 0.75)])).toMatchObject([alone]);
});

test('a client that gave up on the votes gets the return alone, at once', () => {
  const run = openRun();
  expect(run.on([step(), voteCast('t', 0, 1), returned(null, 0.75)])).toMatchObject([alone]);
  expect(run.owed()).toEqual([]);
  expect(run.waiting()).toBe(0);
});

test('nothing came back from the last step, so it counts as 0 without a vote', () => {
  const run = openRun();
  run.on([step({ from: null, next: [] })]);
  expect(run.owed()).toEqual([]);
  expect(run.on([returned(against, 0.75)])).toMatchObject([
    { source: 'reward+process', votes: [], needs: 0, advantage: 0.7, process: { mean: 0 } },
  ]);
});

test('a session without a reward, and a deleted step, end the votes', () => {
  for (const event of [sessionClosed(), turnWithdrawn('t')]) {
    const run = openRun();
    expect(run.on([step(), voteCast('t', 0, 1), event])).toMatchObject([{ source: 'unavailable' }]);
    expect([run.owed(), run.waiting()]).toEqual([[], 0]);
  }
});

test('a rewarded turn that nobody votes on is judged as before', () => {
  const [judgment] = judge([turnCompleted('t', { settle: 'reward' }), returned(undefined, 0.75)]);
  expect(judgment).toMatchObject({ score: 1, source: 'reward', advantage: 0.75, votes: [] });
  expect(judgment).not.toHaveProperty('process');
});
