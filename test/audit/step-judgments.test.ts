import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openBooks } from '../../services/cli/audit/books/books.ts';
import { createStepCheck } from '../../services/cli/audit/step-check.ts';
import { judgeFold } from '../../services/judge/judge-fold.ts';
import {
  sessionClosed,
  turnCompleted,
  turnWithdrawn,
  voteCast,
  voteExpired,
  voteFailed,
} from '../../services/judge/testing/events.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import { SessionEnded } from '../../shared/events/session-ended.ts';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { defined } from '../../shared/lang/defined.ts';
import { memoryRows } from '../../shared/log/rows.ts';

/** The judge and the audit, which share no code, about the same logs. */

const terms = { votes: 3, weight: 0.3 };
const place = { lane: 'lane-1', key: 'key-1' };
const said = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-02T03:04:05.000Z' });
/** What the client did before the session's end. */
const conversations = (steps: FeedbackGiven['data']['steps']): readonly ClawLoopEvent[] => [
  SessionStarted.create({
    ...said('e'),
    data: { ...place, session: 's', settle: 'reward', process: terms },
  }),
  FeedbackGiven.create({
    ...said('f'),
    data: { ...place, interactionId: 'last', score: 0.5, ...defined({ steps }) },
  }),
  SessionEnded.create({ ...said('end'), data: { ...place, session: 's', reason: 'explicit' } }),
];

const step = turnCompleted('t', { settle: 'reward' }, { process: terms });
const returned = (process: TurnFeedback['data']['process'], advantage: number | undefined) =>
  TurnFeedback.create({
    ...said('t/return'),
    data: {
      turnId: 't',
      lane: 'lane-1',
      score: 0.5,
      given: 'end',
      return: { own: null, parent: null, discount: 1 },
      ...defined({ process, advantage }),
    },
  });

const vote = fc.constantFrom(...([-1, 0, 1, null] as const));
const votes = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 3 }), vote).map(([index, value]) => voteCast('t', index, value)),
  { maxLength: 8 },
);
const ends = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }).map((nth) => voteFailed('t', nth)) },
    { weight: 1, arbitrary: fc.constant(voteExpired('t')) },
    { weight: 1, arbitrary: fc.constant(turnWithdrawn('t')) },
  ),
  { maxLength: 4 },
);
/** as they are, not at all, or compared */
const against = fc.constantFrom({ baseline: 0, scale: 1 }, null, { baseline: 0.25, scale: 0.5 });
const end = fc
  .tuple(against, fc.constantFrom(undefined, 0.75), fc.boolean())
  .map(([process, advantage, isRewarded]): readonly ClawLoopEvent[] =>
    isRewarded ? [returned(process, advantage), sessionClosed()] : [sessionClosed()],
  );
/** The step first, the return just before the end of its session, and copies of anything. */
const logs = fc
  .tuple(votes, ends, end, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })))
  .map(([cast, ended, closing, random]) => {
    const place = () => random.next().value as number;
    const others = [...cast, ...ended].map((event) => [place(), event] as const);
    const closed = closing.map((event, at) => [0.5 + at / 1_000, event] as const);
    const copies = [...others, ...closed].flatMap(([at, event]) =>
      place() < 0.2 ? [[at + (1 - at) * place(), event] as const] : [],
    );
    return [step, ...[...others, ...closed, ...copies].sort(([a], [b]) => a - b).map(([, event]) => event)];
  });

/** The log with the judgments of the judge, each `lag` records after its cause. */
function judged(log: readonly ClawLoopEvent[], lag: number): readonly ClawLoopEvent[] {
  const rows = memoryRows();
  const behind: (readonly [at: number, event: ClawLoopEvent])[] = [];
  log.forEach((event, offset) => {
    const { changes, emit } = judgeFold.on(
      rows,
      event,
      { partition: 0, offset },
      { votes: 1, revises: true },
    );
    rows.apply(changes);
    for (const one of emit) behind.push([offset + lag, one as ClawLoopEvent]);
  });
  return [...log.map((event, at) => [at, event] as const), ...behind]
    .sort(([a], [b]) => a - b)
    .map(([, event]) => event);
}

/** The comparison that brings such a return. */
function stepsFor(log: readonly ClawLoopEvent[]): FeedbackGiven['data']['steps'] {
  const process = log.find((event) => event.type === 'turn.feedback')?.data.process;
  if (process === undefined || process?.baseline === 0) return undefined;
  return process === null ? [] : [{ interactionId: 't', process }];
}

function problems(log: readonly ClawLoopEvent[]): readonly string[] {
  const found: string[] = [];
  const check = createStepCheck(
    (sentence) => found.push(sentence),
    () => true,
    openBooks(),
  );
  const facts = [...conversations(stepsFor(log)), ...log];
  facts.forEach((event, offset) => {
    const topic = offset < 3 ? 'conversations' : 'turns';
    check({ topic, at: { partition: 0, offset }, time: 0, event });
  });
  return found;
}

test('a step gets at most one judgment, and the audit repeats it from the log', () => {
  const sources = new Set<string>();
  fc.assert(
    fc.property(logs, fc.integer({ min: 0, max: 4 }), (log, lag) => {
      const whole = judged(log, lag);
      const judgments = whole.flatMap((event) => (event.type === 'judgment.reached' ? [event.data] : []));
      expect(judgments.length).toBeLessThanOrEqual(1);
      for (const { source } of judgments) sources.add(source);
      const isReturned = log.some(({ type }) => type === 'turn.feedback');
      if (!isReturned) expect(judgments).toHaveLength(1); // unavailable
      expect(problems(whole)).toEqual([]);
    }),
    { numRuns: 2_000, seed: 7 },
  );
  expect([...sources].sort()).toEqual(['reward', 'reward+process', 'unavailable']);
});
