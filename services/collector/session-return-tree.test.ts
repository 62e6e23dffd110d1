import { expect, test } from 'vitest';
import { feedback } from './testing/events.ts';
import { chain, emittedLines, end, returns, rewardedAnswer } from './testing/rewarded-session.ts';

// The turns of a conversation that a reward reaches.

test('branches do not affect each other; the turn above them gets their mean', () => {
  const events = [
    rewardedAnswer('root', 'hi|hello'),
    rewardedAnswer('left', 'hi|hello|left|l'),
    rewardedAnswer('right', 'hi|hello|right|r'),
    rewardedAnswer('leaf', 'hi|hello|left|l|more|m'),
    rewardedAnswer('other', 'another task|done'),
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

test('an advantage is propagated the same way, to every turn of the session', () => {
  const events = [...chain, rewardedAnswer('other', 'another task|done')];
  expect(returns([...events, feedback({ id: 'f' }, 'c', 1, { advantage: -3 }), end], 0.5)).toEqual({
    a: [0.25, -0.75],
    b: [0.5, -1.5],
    c: [1, -3],
    other: [0, 0],
  });
});

test('a cut-off answer does not train, and passes on the return after it', () => {
  const events = [
    rewardedAnswer('a', 'hi|hello'),
    rewardedAnswer('b', 'hi|hello|and?|wel', { finishReason: 'length' }),
    rewardedAnswer('c', 'hi|hello|and?|wel|so?|yes'),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(emittedLines(events)).toEqual([
    'completed a <- and?',
    'skipped b: truncated',
    'completed c <- ',
    'feedback a: 1',
    'feedback b: 1',
    'feedback c: 1',
    'closed s',
  ]);
});

test('a reward for a cut-off answer reaches the turns before it', () => {
  const events = [
    rewardedAnswer('a', 'hi|hello'),
    rewardedAnswer('b', 'hi|hello|and?|', { finishReason: 'aborted' }),
    feedback({ id: 'f' }, 'b', -1),
    end,
  ];
  expect(returns(events)).toEqual({ a: [-1, undefined], b: [-1, undefined] });
});

test('a side request is a node only if it was rewarded', () => {
  const title = rewardedAnswer('t', 'hi|hello|title?|Greeting', { turnType: 'side' });
  const f = feedback({ id: 'f' }, 'c', 1);
  expect(returns([chain[0]!, title, ...chain.slice(1), f, end])).not.toHaveProperty('t');
  expect(returns([chain[0]!, title, ...chain.slice(1), f, feedback({ id: 'g' }, 't', 0), end])).toEqual({
    a: [0.5, undefined], // mean of b's 1 and the title's 0
    b: [1, undefined],
    c: [1, undefined],
    t: [0, undefined],
  });
});

test('of two answers to one request, the unwanted one is superseded and halves nothing', () => {
  const events = [
    rewardedAnswer('a', 'hi|hello'),
    rewardedAnswer('retry', 'hi|hello|and?|hm'),
    ...chain.slice(1),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(emittedLines(events)).toEqual([
    'completed a <- and?',
    'completed b <- so?',
    'skipped retry: superseded',
    'completed c <- ',
    'feedback a: 1',
    'feedback b: 1',
    'feedback c: 1',
    'closed s',
  ]);
});

test('an answer that was not continued is kept if rewarded, also after its sibling continued', () => {
  const events = [
    rewardedAnswer('a', 'hi|hello'),
    rewardedAnswer('bad', 'hi|hello|and?|hm'),
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
  expect(emittedLines(events)).toContain('completed bad <- ');
});

test('answers of pinned versions are not turns, but the chain passes through them', () => {
  const events = [
    rewardedAnswer('a', 'hi|hello'),
    rewardedAnswer('pinned', 'hi|hello|and?|well', { live: false }),
    rewardedAnswer('c', 'hi|hello|and?|well|so?|yes'),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(returns(events)).toEqual({ a: [1, undefined], c: [1, undefined] });
});

test('after a compaction, the conversation continues from the turn whose answer was kept', () => {
  const summary =
    'The conversation history before this point was compacted into the following summary: eggs.';
  const events = [
    rewardedAnswer('a', 'How long do eggs boil?|Seven minutes, from cold water.'),
    rewardedAnswer('b', `${summary}|Seven minutes, from cold water.|And softer ones?|Five minutes.`),
    rewardedAnswer(
      'c',
      `${summary}|Seven minutes, from cold water.|And softer ones?|Five minutes.|Thanks|Welcome.`,
    ),
    feedback({ id: 'f' }, 'c', 1),
    end,
  ];
  expect(returns(events, 0.5)).toEqual({ a: [0.25, undefined], b: [0.5, undefined], c: [1, undefined] });
});

test('an aborted attempt counts for nothing unless it was rewarded', () => {
  const broken = rewardedAnswer('x', 'hi|hello|or?|we', { finishReason: 'aborted', disconnected: true });
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

test('in earlier logs, a reward for the last answer is not for a title request', () => {
  const title = rewardedAnswer('t', 'Name this chat: hi|Greeting', { turnType: 'side' });
  const last = feedback({ id: 'f' }, 't', 1, { last: true });
  for (const events of [
    [...chain, title, last],
    [...chain, last, title], // the reward arrived before its interaction
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
