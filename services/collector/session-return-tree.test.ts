import { expect, test } from 'vitest';
import { feedback } from './testing/events.ts';
import { chain, end, returns, said, told } from './testing/rewarded-session.ts';

// Which turns of the conversation a reward reaches.

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

test('in logs of earlier programs a reward for the last answer is one for the conversation, not for a title beside it', () => {
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
