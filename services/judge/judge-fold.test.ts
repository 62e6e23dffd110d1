import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Vote } from './judge-rows.ts';
import {
  sessionClosed,
  turnCompleted,
  turnFeedback,
  turnWithdrawn,
  voteCast,
  voteExpired,
} from './testing/events.ts';
import { owedVotes } from './testing/owed-votes.ts';
import { judge, openRun } from './testing/run-judge.ts';

test('a turn is owed its votes, with its position, until each of them arrives', () => {
  const run = openRun();
  run.on([sessionClosed('other'), turnCompleted('t')]);
  expect(owedVotes('lane-1', run.rows)[0]).toEqual({
    id: 't/vote/0',
    data: { turnId: 't', lane: 'lane-1', index: 0, at: { partition: 0, offset: 1 } },
  });
  run.on([voteCast('t', 1, 0)]);
  expect(run.owed()).toEqual(['t/vote/0', 't/vote/2']);
  run.on([voteCast('t', 0, 1), voteCast('t', 2, 1)]);
  expect(run.owed()).toEqual([]);
  expect(run.waiting()).toBe(0);
});

test('a deleted turn is owed no votes and settles without a verdict', () => {
  const run = openRun();
  run.on([
    turnCompleted('t'),
    voteCast('t', 1, 1),
    turnWithdrawn('t'),
    turnWithdrawn('t'),
    voteCast('t', 0, 1),
  ]);
  expect(run.emitted).toMatchObject([{ turnId: 't', score: null, source: 'unavailable', by: 't/withdrawn' }]);
  expect(run.owed()).toEqual([]);
  expect(run.waiting()).toBe(0);
});

test('the last vote settles the turn, with votes by index and hints longest first', () => {
  const [judgment, ...more] = judge([
    turnCompleted('t'),
    voteCast('t', 2, -1, 'No lists, please.'),
    voteCast('t', 0, -1, 'Answer in plain sentences.'),
    voteCast('t', 1, null, 'too short'),
  ]);
  expect(more).toEqual([]);
  expect(judgment).toEqual({
    turnId: 't',
    lane: 'lane-1',
    score: -1,
    mean: -1,
    votes: [-1, null, -1],
    needs: 3,
    hints: ['Answer in plain sentences.', 'No lists, please.'],
    source: 'votes',
    by: 't/vote/1',
  });
});

test('of two votes with the same index the first counts', () => {
  expect(judge([turnCompleted('t'), voteCast('t', 0, 1), voteCast('t', 0, -1), voteCast('t', 1, 1)])).toEqual(
    [],
  );
  const run = openRun();
  run.on([turnCompleted('t'), voteCast('t', 0, 1), voteCast('t', 0, -1)]);
  run.on([turnCompleted('t'), voteCast('t', 1, 0), voteCast('t', 2, 1), voteCast('t', 2, 1)]);
  expect(run.emitted.map(({ votes }) => votes)).toEqual([[1, 0, 1]]);
});

test('feedback outranks votes, and later votes have no effect', () => {
  const emitted = judge([
    turnCompleted('t'),
    voteCast('t', 0, 1, 'what this vote hints at'),
    turnFeedback('t', -1, 'f1', 'Please stop greeting me.'),
    voteCast('t', 1, 1),
    voteCast('t', 2, 1),
    turnFeedback('t', 1, 'f2'),
    voteExpired('t'),
  ]);
  expect(emitted).toHaveLength(1);
  expect(emitted[0]).toMatchObject({
    score: -1,
    mean: -1,
    source: 'feedback',
    by: 'f1/feedback',
    votes: [1],
    hints: ['Please stop greeting me.', 'what this vote hints at'],
  });
});

test('a comment with positive feedback is no hint', () => {
  expect(judge([turnCompleted('t'), turnFeedback('t', 1, 'f', 'Just how I like it.')])[0]).toMatchObject({
    score: 1,
    hints: [],
  });
});

test('feedback or votes on a turn that is not open change nothing', () => {
  const run = openRun();
  run.on([turnFeedback('t', 1, 'f'), voteCast('t', 0, 1), voteExpired('t')]);
  expect(run.emitted).toEqual([]);
  expect(run.waiting()).toBe(0);
});

test('at the deadline a turn without all votes is unavailable and lists its votes', () => {
  const emitted = judge([
    turnCompleted('t'),
    voteCast('t', 0, 1),
    voteCast('t', 1, 1),
    voteExpired('t'),
    voteCast('t', 2, 1),
  ]);
  expect(emitted).toEqual([
    expect.objectContaining({ score: null, mean: 0, source: 'unavailable', votes: [1, 1], by: 't/expired' }),
  ]);
});

test('votes that could not be parsed count as cast: alone they give the verdict 0', () => {
  const none = [0, 1, 2].map((index) => voteCast('t', index, null));
  expect(judge([turnCompleted('t'), ...none, voteExpired('t')])).toEqual([
    expect.objectContaining({ score: 0, mean: 0, source: 'votes', votes: [null, null, null] }),
  ]);
});

test('a turn keeps the number of votes that it was opened with', () => {
  const run = openRun();
  run.on([turnCompleted('three')], { votes: 3 });
  run.on([turnCompleted('one'), voteCast('three', 0, 1)], { votes: 1 });
  expect(run.owed()).toEqual(['one/vote/0', 'three/vote/1', 'three/vote/2']);
  run.on([voteCast('three', 1, 1), voteCast('one', 0, -1)], { votes: 5 });
  run.on([voteCast('three', 2, 0)], { votes: 1 });
  expect(run.emitted.map(({ turnId, needs, score }) => [turnId, needs, score])).toEqual([
    ['one', 1, -1],
    ['three', 3, 1],
  ]);
});

test('a vote with an index beyond those of the turn is ignored', () => {
  const run = openRun();
  run.on([turnCompleted('t')], { votes: 1 });
  run.on([voteCast('t', 1, 1)]);
  expect(run.emitted).toEqual([]);
});

test('a turn that waits for a reward is owed no votes and settles only by it', () => {
  const run = openRun();
  run.on([turnCompleted('t', { settle: 'reward' })]);
  expect(run.owed()).toEqual([]);
  run.on([voteCast('t', 0, 1), voteExpired('t')], { votes: 1 });
  expect(run.emitted).toEqual([]);
  run.on([turnFeedback('t', 0.25, 'f')]);
  expect(run.emitted).toEqual([
    expect.objectContaining({ score: 0.25, mean: 0.25, source: 'reward', votes: [] }),
  ]);
});

test('a judgment has the advantage of its reward, and a reward of 0 counts', () => {
  const run = openRun();
  run.on([turnCompleted('t', { settle: 'reward' }), turnCompleted('v')]);
  run.on([turnFeedback('t', 0, 'f', undefined, -1.5), turnFeedback('v', 1, 'g', undefined, 0)]);
  expect(run.emitted).toMatchObject([
    { turnId: 't', score: 0, mean: 0, source: 'reward', advantage: -1.5 },
    { turnId: 'v', score: 1, source: 'feedback', advantage: 0 },
  ]);
  run.on([turnCompleted('u'), turnFeedback('u', 1, 'h')]);
  expect(run.emitted.at(-1)).not.toHaveProperty('advantage');
});

test('the end of a session settles only its turns that wait for a reward', () => {
  const run = openRun();
  run.on([
    turnCompleted('mine', { settle: 'reward' }),
    turnCompleted('rated', { settle: 'reward' }),
    turnCompleted('voted'),
    turnCompleted('later', { settle: 'reward', epoch: 'e2' }),
    turnCompleted('elsewhere', { settle: 'reward', session: 's2' }),
    turnCompleted('of-another-key', { settle: 'reward', key: 'key-2' }),
    turnFeedback('rated', 1, 'f'),
    sessionClosed(),
    sessionClosed(),
    turnFeedback('mine', 1, 'late'),
  ]);
  expect(run.emitted.map(({ turnId, score, source }) => [turnId, score, source])).toEqual([
    ['rated', 1, 'reward'],
    ['mine', null, 'unavailable'],
  ]);
});

test('any history settles a turn at most once, and exactly once if complete', () => {
  const turns = ['a', 'b', 'c'];
  const evidence = fc.oneof(
    fc.record({
      kind: fc.constant('vote' as const),
      turn: fc.constantFrom(...turns),
      index: fc.nat(4),
      vote: fc.constantFrom<Vote>(-1, 0, 1, null),
    }),
    fc.record({ kind: fc.constantFrom('completed', 'expired', 'feedback'), turn: fc.constantFrom(...turns) }),
    fc.record({ kind: fc.constant('closed'), turn: fc.constant('') }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(evidence, fc.integer({ min: 1, max: 3 })), { maxLength: 60 }), (steps) => {
      const run = openRun();
      const completed = new Set<string>();
      steps.forEach(([step, votes], offset) => {
        // attribute completes a turn once
        if (step.kind === 'completed' && completed.has(step.turn)) return;
        completed.add(step.kind === 'completed' ? step.turn : '');
        run.on([toEvent(step, offset)], { votes });
      });
      const settled = run.emitted.map(({ turnId }) => turnId);
      expect(new Set(settled).size).toBe(settled.length);
      for (const turn of turns) if (completed.has(turn)) run.on([voteExpired(turn)]);
      expect(new Set(run.emitted.map(({ turnId }) => turnId))).toEqual(
        new Set(turns.filter((turn) => completed.has(turn))),
      );
      expect(run.waiting()).toBe(0);
    }),
    { seed: 7, numRuns: 300 },
  );
});

type Step = { readonly kind: string; readonly turn: string; readonly index?: number; readonly vote?: Vote };
function toEvent({ kind, turn, index = 0, vote = 0 }: Step, offset: number): ClawLoopEvent {
  if (kind === 'completed') return turnCompleted(turn);
  if (kind === 'expired') return voteExpired(turn);
  if (kind === 'feedback') return turnFeedback(turn, 1, `f${offset}`);
  return kind === 'closed' ? sessionClosed() : voteCast(turn, index, vote);
}

test('a copy of a judged turn is owed no votes and gets no second judgment', () => {
  const run = openRun();
  run.on([turnCompleted('t'), turnFeedback('t', 1, 'f'), turnCompleted('t')]);
  expect(run.owed()).toEqual([]);
  run.on([turnFeedback('t', -1, 'g')]);
  expect(run.emitted).toHaveLength(1);
});
