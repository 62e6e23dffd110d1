import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import {
  assistant,
  feedback,
  type InteractionGiven,
  interaction,
  sessionEnded,
  timeAt,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

/** `u` and `a` in turns, the answer last: 'hi|hello|and?|well'. */
function said(id: string, words: string, more: Partial<InteractionGiven> = {}) {
  const all = words.split('|').map((word, index): ChatMessage => (index % 2 ? assistant(word) : user(word)));
  const answer = all.at(-1)!;
  return interaction({
    ...{ id, session: 's', settle: 'reward' },
    messages: all.slice(0, -1),
    answer,
    ...more,
  });
}
const end = sessionEnded({ id: 'e' }, 's');
const fold = (events: readonly ClawLoopEvent[], turnDiscount = 1) =>
  runFold(attribute, events, { turnDiscount }).emitted;
const told = (events: readonly ClawLoopEvent[], turnDiscount?: number) =>
  fold(events, turnDiscount).map(brief);

/** id -> [return, advantage] */
const returns = (events: readonly ClawLoopEvent[], turnDiscount?: number) =>
  Object.fromEntries(
    fold(events, turnDiscount).flatMap(({ type, data }) =>
      type === 'turn.feedback' ? [[data.turnId, [data.score, data.advantage]]] : [],
    ),
  );

const chain = [
  said('a', 'hi|hello'),
  said('b', 'hi|hello|and?|well'),
  said('c', 'hi|hello|and?|well|so?|yes'),
];

test('at the end of the session every turn of it has its discounted return, and nothing has before', () => {
  expect(told([...chain, feedback({ id: 'f' }, 'c', 1)])).toEqual([
    'completed a <- and?',
    'completed b <- so?',
  ]);
  const all = fold([...chain, feedback({ id: 'f' }, 'c', 1), end], 0.5);
  expect(all.map(brief)).toEqual([
    ...['completed a <- and?', 'completed b <- so?', 'completed c <- '],
    ...['feedback a: 0.25', 'feedback b: 0.5', 'feedback c: 1', 'closed s'],
  ]);
  const facts = all.filter(({ type }) => type === 'turn.feedback');
  expect(facts.map(({ id, data }) => [id, data])).toEqual([
    [
      'a/return',
      {
        ...{ turnId: 'a', lane: 'lane', score: 0.25, given: 'e' },
        return: { own: null, parent: null, discount: 0.5 },
      },
    ],
    [
      'b/return',
      {
        ...{ turnId: 'b', lane: 'lane', score: 0.5, given: 'e' },
        return: { own: null, parent: 'a', discount: 0.5 },
      },
    ],
    [
      'c/return',
      {
        ...{ turnId: 'c', lane: 'lane', score: 1, given: 'f' },
        return: { own: 1, parent: 'b', discount: 0.5 },
      },
    ],
  ]);
});

test('the last reward before the end counts, an equal copy of an earlier one does not', () => {
  const first = feedback({ id: 'f' }, 'c', 1);
  expect(returns([...chain, first, feedback({ id: 'g' }, 'c', -1), first, end])).toMatchObject({
    c: [-1, undefined],
  });
});

test('a reward may overtake its interaction, come while the turn is open, or after its next state', () => {
  const [a, b, c] = chain as [ClawLoopEvent, ClawLoopEvent, ClawLoopEvent];
  const f = feedback({ id: 'f' }, 'a', 0.5);
  for (const events of [
    [f, a, b, c],
    [a, f, b, c],
    [a, b, c, f],
  ])
    expect(returns([...events, end])).toEqual({
      a: [0.5, undefined],
      b: [0, undefined],
      c: [0, undefined],
    });
});

test('rewards after the end are late: they are told, and change nothing', () => {
  const events = [...chain, feedback({ id: 'f' }, 'c', 1), end];
  expect(told([...events, feedback({ id: 'g' }, 'c', -1)]).slice(told(events).length)).toEqual([
    'feedback c: -1',
  ]);
});

test('a reward of 0 is a score; none at all is no-reward', () => {
  expect(told([...chain, feedback({ id: 'f' }, 'c', 0), end]).slice(2)).toEqual([
    ...['completed c <- ', 'feedback a: 0', 'feedback b: 0', 'feedback c: 0', 'closed s'],
  ]);
  expect(told([...chain, end]).slice(2)).toEqual(['skipped c: no-reward', 'closed s']);
});

test('a session that its client takes back is told nothing of its rewards', () => {
  const events = [...chain, feedback({ id: 'f' }, 'c', 1), sessionEnded({ id: 'e' }, 's', { discard: true })];
  expect(told(events).slice(2)).toEqual(['skipped c: discarded', 'closed s']);
  expect(fold(events).at(-1)?.data).toMatchObject({ discard: true });
});

test('branches learn nothing of each other; the turn above them learns their mean', () => {
  const events = [
    said('root', 'hi|hello'),
    said('left', 'hi|hello|left|l'),
    said('right', 'hi|hello|right|r'),
    said('leaf', 'hi|hello|left|l|more|m'),
    said('other', 'another task|done'),
    feedback({ id: 'f' }, 'leaf', 1),
    feedback({ id: 'g' }, 'right', -0.5),
    end,
  ];
  expect(returns(events, 0.5)).toEqual({
    root: [0, undefined], // 0.5 * mean(0.5, -0.5)
    left: [0.5, undefined],
    right: [-0.5, undefined],
    leaf: [1, undefined],
    other: [0, undefined],
  });
});

test('an advantage goes the same way, to every turn of the session', () => {
  const events = [...chain, said('other', 'another task|done')];
  expect(returns([...events, feedback({ id: 'f' }, 'c', 1, { advantage: -3 }), end], 0.5)).toEqual({
    a: [0.25, -0.75],
    b: [0.5, -1.5],
    c: [1, -3],
    other: [0, 0],
  });
});

test('an answer that was cut off trains nobody and passes on what came of it', () => {
  const events = [
    said('a', 'hi|hello'),
    said('b', 'hi|hello|and?|wel', { finishReason: 'length' }),
    said('c', 'hi|hello|and?|wel|so?|yes'),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(told(events)).toEqual([
    ...['completed a <- and?', 'skipped b: truncated', 'completed c <- '],
    ...['feedback a: 1', 'feedback b: 1', 'feedback c: 1', 'closed s'],
  ]);
});

test('a reward for an answer that was cut off reaches the turns before it', () => {
  const events = [
    said('a', 'hi|hello'),
    said('b', 'hi|hello|and?|', { finishReason: 'aborted' }),
    feedback({ id: 'f' }, 'b', -1),
    end,
  ];
  expect(returns(events)).toEqual({ a: [-1, undefined], b: [-1, undefined] });
});

test('a side request is no node, unless it was rewarded itself', () => {
  const title = said('t', 'hi|hello|title?|Greeting', { turnType: 'side' });
  const f = feedback({ id: 'f' }, 'c', 1);
  expect(returns([chain[0]!, title, ...chain.slice(1), f, end])).not.toHaveProperty('t');
  expect(returns([chain[0]!, title, ...chain.slice(1), f, feedback({ id: 'g' }, 't', 0), end])).toEqual({
    a: [0.5, undefined], // mean of b's 1 and the title's 0
    b: [1, undefined],
    c: [1, undefined],
    t: [0, undefined],
  });
});

test('of two answers to one request the one that nobody wanted is superseded, and halves nothing', () => {
  const events = [
    said('a', 'hi|hello'),
    said('retry', 'hi|hello|and?|hm'),
    ...chain.slice(1),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(told(events)).toEqual([
    ...['completed a <- and?', 'completed b <- so?', 'skipped retry: superseded', 'completed c <- '],
    ...['feedback a: 1', 'feedback b: 1', 'feedback c: 1', 'closed s'],
  ]);
});

test('an answer that was not gone on from is kept when it was rewarded, also after its sibling went on', () => {
  const events = [
    said('a', 'hi|hello'),
    said('bad', 'hi|hello|and?|hm'),
    ...chain.slice(1),
    feedback({ id: 'g' }, 'bad', -1),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(returns(events)).toEqual({
    a: [0, undefined],
    bad: [-1, undefined],
    b: [1, undefined],
    c: [1, undefined],
  });
  expect(told(events)).toContain('completed bad <- ');
});

test('another access key rewards nobody', () => {
  expect(told([...chain, feedback({ id: 'f', key: 'other' }, 'c', 1), end]).slice(2)).toEqual([
    'skipped c: no-reward',
    'closed s',
  ]);
});

test('answers of pinned versions are no turns, and the chain goes through them', () => {
  const events = [
    said('a', 'hi|hello'),
    said('pinned', 'hi|hello|and?|well', { live: false }),
    said('c', 'hi|hello|and?|well|so?|yes'),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(returns(events)).toEqual({ a: [1, undefined], c: [1, undefined] });
});

test('a session that goes on after its end begins with no rewards', () => {
  const again = [
    ...[...chain, feedback({ id: 'f' }, 'c', 1), end],
    said('d', 'hi|hello|and?|well|so?|yes|ok|fine'),
    sessionEnded({ id: 'e2' }, 's'),
  ];
  expect(told(again).slice(-2)).toEqual(['skipped d: no-reward', 'closed s']);
  const { rows } = runFold(attribute, again, {});
  expect([...rows.get('lane')!.entries('node')]).toEqual([]);
});

test('feedback in a session that is settled by votes is told at once, its advantage with it', () => {
  const one = said('a', 'hi|hello', { settle: 'votes' });
  const events = [one, feedback({ id: 'f' }, 'a', 1, { advantage: 2 }), sessionEnded({ id: 'e' }, 's')];
  expect(returns(events)).toEqual({ a: [1, 2] });
});

test('a long chain costs no more per turn at its end than at its beginning', () => {
  const words = Array.from({ length: 400 }, (_, index) => `w${index}`);
  const events = Array.from({ length: 200 }, (_, turn) =>
    said(`t${turn}`, words.slice(0, 2 * turn + 2).join('|'), { time: timeAt(turn) }),
  );
  const { rows } = runFold(attribute, events, {});
  const sizes = [...rows.get('lane')!.entries('node/')].map(([, row]) => JSON.stringify(row).length);
  expect(Math.max(...sizes)).toBeLessThan(Math.min(...sizes) + 100);
  expect(Object.values(returns([...events, feedback({ id: 'f' }, 't199', 1), end])).flat()).toEqual(
    Array.from({ length: 200 }, () => [1, undefined]).flat(),
  );
});

test('after a compaction the conversation goes on from the turn whose answer was kept', () => {
  const summary =
    'The conversation history before this point was compacted into the following summary: eggs.';
  const events = [
    said('a', 'How long do eggs boil?|Seven minutes, from cold water.'),
    said('b', `${summary}|Seven minutes, from cold water.|And softer ones?|Five minutes.`),
    said('c', `${summary}|Seven minutes, from cold water.|And softer ones?|Five minutes.|Thanks|Welcome.`),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(returns(events, 0.5)).toEqual({ a: [0.25, undefined], b: [0.5, undefined], c: [1, undefined] });
});

test('an attempt that broke off counts for nothing, unless it was rewarded', () => {
  const broken = said('x', 'hi|hello|or?|we', { finishReason: 'aborted', disconnected: true });
  const f = feedback({ id: 'f' }, 'c', 1);
  expect(returns([chain[0]!, broken, ...chain.slice(1), f, end])).toEqual({
    a: [1, undefined],
    b: [1, undefined],
    c: [1, undefined],
  });
  const g = feedback({ id: 'g' }, 'x', -1);
  expect(returns([chain[0]!, broken, ...chain.slice(1), f, g, end])).toMatchObject({
    a: [0, undefined],
    x: [-1, undefined],
  });
});

test('a reward for the last answer is one for the conversation, not for a title that was asked beside it', () => {
  const title = said('t', 'Name this chat: hi|Greeting', { turnType: 'side' });
  const last = feedback({ id: 'f' }, 't', 1, { last: true });
  for (const events of [
    [...chain, title, last],
    [...chain, last, title], // it overtook its interaction
    [...chain, feedback({ id: 'g' }, 'c', -1), title, last],
  ])
    expect(returns([...events, end], 0.5)).toEqual({
      a: [0.25, undefined],
      b: [0.5, undefined],
      c: [1, undefined],
    });
  expect(returns([...chain, title, last, feedback({ id: 'g' }, 'c', -1), end])).toMatchObject({
    c: [-1, undefined],
  });
  expect(returns([...chain, title, feedback({ id: 'f' }, 't', 1), end])).toMatchObject({
    c: [0, undefined],
    t: [1, undefined],
  });
  expect(returns([title, last, end])).toEqual({ t: [1, undefined] });
});

test('a session may have any name, half a surrogate pair too', () => {
  const session = 'demo-\ud800';
  const events = [
    said('1', 'hi|hello', { session }),
    said('2', 'hi|hello|and?|well', { session }),
    feedback({ id: 'f' }, '2', 1),
    sessionEnded({ id: 'e' }, session),
  ];
  expect(returns(events)).toEqual({ 1: [1, undefined], 2: [1, undefined] });
  const { emitted } = runFold(assemble, fold(events), { atLeastOne: true });
  expect(emitted).toEqual([]);
});
