import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { openBooks } from './books/books.ts';
import { createStepCheck } from './step-check.ts';
import { completed, event, type Facts, factsOf, ready } from './testing/facts.ts';

const process = { votes: 2, weight: 0.5 };
const against = { baseline: 0.2, scale: 2 };
const place = { key: 'mine', session: 's' };
const epoch = 's/started';

type Data = Readonly<Record<string, unknown>>;
/** A session with one step that is voted on; `data`: what differs, by name of the event. */
function session(data: Readonly<Record<string, Data | undefined>> = {}): readonly ClawLoopEvent[] {
  const steps = [{ interactionId: 'a', advantage: 0.1, process: against }];
  const mean = 0.5;
  const part = (0.5 * (mean - 0.2)) / 2;
  const facts: Readonly<Record<string, ClawLoopEvent>> = {
    started: event('session.started', 's/started', {
      ...place,
      settle: 'reward',
      process,
      weigh: 'attempt',
      ...data.started,
    }),
    given: event('feedback.given', 'f', {
      interactionId: 'a',
      key: 'mine',
      score: 1,
      advantage: 0.6,
      steps,
      ...data.given,
    }),
    ended: event('session.ended', 'end', { ...place, reason: 'explicit' }),
    completed: completed('a', {
      ...place,
      epoch,
      settle: 'reward',
      process,
      from: 'b',
      ...data.completed,
    }) as ClawLoopEvent,
    first: event('vote.cast', 'a/vote/0', { turnId: 'a', index: 0, vote: 1, ...data.first }),
    expired: event('vote.expired', 'a/expired', { turnId: 'a' }),
    second: event('vote.cast', 'a/vote/1', { turnId: 'a', index: 1, vote: 0 }),
    returned: event('turn.feedback', 'a/return', {
      turnId: 'a',
      given: 'f',
      score: 1,
      advantage: 0.7,
      process: against,
      return: { own: 1, parent: null, discount: 1, step: 0.1 },
      ...data.returned,
    }),
    closed: event('session.closed', 's@s/started/closed', {
      ...place,
      epoch,
      by: 'end',
      weigh: 'attempt',
      ...data.closed,
    }),
    judged: event('judgment.reached', 'a/judgment', {
      turnId: 'a',
      score: 1,
      mean: 1,
      votes: [1, 0],
      needs: 2,
      hints: [],
      source: 'reward+process',
      advantage: 0.7 + part,
      process: { mean, weight: 0.5, ...against, part, earned: 'a/return' },
      by: 'a/return',
      ...data.judged,
    }),
    ready: ready('a', {
      ...place,
      epoch,
      source: 'reward',
      following: 0,
      weight: 1,
      ...data.ready,
    }),
  };
  const withExpiry = 'expired' in data;
  return Object.entries(facts).flatMap(([name, fact]) =>
    (name === 'expired' && !withExpiry) || (name in data && data[name] === undefined) ? [] : [fact],
  );
}

function problems(...facts: readonly Facts[]): readonly string[] {
  const found: string[] = [];
  const check = createStepCheck(
    (sentence) => found.push(sentence),
    () => true,
    openBooks(),
  );
  const topicOf = (type: string) =>
    /^(turn|vote|judgment|session\.closed)/.test(type) ? 'turns' : 'training';
  factsOf(facts).forEach((fact, offset) => {
    check({ topic: topicOf(fact.type), at: { partition: 0, offset }, time: 0, event: fact });
  });
  return found;
}

const alone = { mean: null, weight: 0.5, ...against, part: 0, earned: 'a/return' };

test('a step that is judged by its return and its votes holds', () => {
  expect(problems(session())).toEqual([]);
});

test('a step whose votes were late holds if its return alone counts', () => {
  const judged = { source: 'reward', advantage: 0.7, votes: [1], process: alone };
  expect(problems(session({ expired: {}, judged }))).toEqual([]);
  expect(problems(session({ expired: {} })).join()).toMatch(/but \[1\] were cast in time/);
});

test.each<[string, Parameters<typeof session>[0], RegExp]>([
  [
    'votes that were left out',
    { judged: { source: 'reward', advantage: 0.7, process: alone } },
    /mean vote null/,
  ],
  [
    'a vote that was not awaited',
    { second: undefined, judged: { votes: [1] } },
    /does not wait for its votes/,
  ],
  [
    'a part that votes do not give',
    { judged: { process: { ...alone, mean: 0.5, part: 0.5 }, advantage: 1.2 } },
    /adds 0.5 for its votes instead of 0.075/,
  ],
  [
    'a sum that is wrong',
    { judged: { advantage: 0.9 } },
    /is 0.9, but its return and its votes add up to 0.77/,
  ],
  [
    'another weight',
    { completed: { process: { votes: 2, weight: 1 } } },
    /another way than its session asked/,
  ],
  ['no word about the votes', { judged: { process: undefined } }, /does not name the return of its step/],
  ['hints', { judged: { hints: ['Go the other way.'] } }, /has hints/],
  ['another comparison', { returned: { process: { baseline: 0, scale: 1 } } }, /compared with other values/],
  [
    'an advantage that was not sent',
    { returned: { return: { own: 1, parent: null, discount: 1, step: 0.3 } } },
    /has the advantage 0.3, but its client sent 0.1/,
  ],
  [
    'votes that nobody asked for',
    { completed: { process: undefined } },
    /counts votes that nobody asked for/,
  ],
  ['a weight that nobody asked for', { closed: { weigh: undefined } }, /has the weight 1, which/],
  ['a weight that is no share', { ready: { weight: 0.4 } }, /has the weight 0.4, which/],
])('a step with %s does not hold', (_, data, expected) => {
  expect(problems(session(data)).join('\n')).toMatch(expected);
});
