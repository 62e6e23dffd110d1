import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { IndexedTurn } from './session-index.ts';
import { sessionNodes } from './session-nodes.ts';

const at = { partition: 0, offset: 0 };
const turn = (id: string, earned?: object, reason: string | null = null): IndexedTurn => ({
  id,
  at,
  reason,
  earned: earned as IndexedTurn['earned'],
});
const credit = (score: number, own: number | null, parent: string | null, advantage?: number) => ({
  score,
  advantage,
  return: { own, parent, discount: 1 },
});
const body = (words: string): InteractionCompleted['data'] => {
  const all = words
    .split('|')
    .map((content, index): ChatMessage => ({ role: index % 2 ? 'assistant' : 'user', content }));
  return { messages: all.slice(0, -1), answer: all.at(-1)! } as unknown as InteractionCompleted['data'];
};
const bodies = [body('hi|hello'), body('hi|hello|and?|well'), body('hi|hello|but?|no')];
const rewarded = [
  turn('a', credit(0, null, null)),
  turn('b', credit(1, 1, 'a', 2)),
  turn('c', credit(-1, -1, 'a', -2)),
];

test('parents, rewards and returns come from the events', () => {
  expect(
    sessionNodes({ turns: rewarded }, bodies, undefined).map(({ parent, own, earned, advantage }) => [
      parent,
      own,
      earned,
      advantage,
    ]),
  ).toEqual([
    [null, null, 0, null],
    ['a', 1, 1, 2],
    ['a', -1, -1, -2],
  ]);
});

test('another discount recomputes the returns', () => {
  const turns = [
    turn('a', credit(9, 0.25, null)),
    turn('b', credit(9, null, 'a')),
    turn('c', credit(9, 1, 'b')),
    turn('d', credit(9, -1, 'b')),
  ];
  const four = [...bodies, bodies[0]!];
  const earned = (discount: number) => sessionNodes({ turns }, four, discount).map((node) => node.earned);
  expect(earned(0)).toEqual([0.25, 0, 1, -1]);
  expect(earned(1)).toEqual([0.25, 0, 1, -1]);
  const chain = turns.slice(0, 3);
  const ofChain = (discount: number) =>
    sessionNodes({ turns: chain }, four.slice(0, 3), discount).map((node) => node.earned);
  expect(ofChain(0.9)[0]).toBeCloseTo(0.25 + 0.9 ** 2, 12);
  expect(ofChain(0.9).slice(1)).toEqual([0.9, 1]);
});

test('a session without rewards has a tree by content, and no returns', () => {
  const turns = [turn('a'), turn('b'), turn('c', undefined, 'no-reward'), turn('t', undefined, 'side')];
  expect(
    sessionNodes({ turns }, [...bodies, bodies[1]!], 0.5).map(({ parent, earned, isSide }) => [
      parent,
      earned,
      isSide,
    ]),
  ).toEqual([
    [null, null, false],
    ['a', null, false],
    ['a', null, false],
    [null, null, true],
  ]);
});

test('a secret marks its interaction and those that repeat it, also in a tool', () => {
  const token = `gh${'p_'}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5`;
  const turns = ['a', 'b', 'c', 'd'].map((id) => turn(id));
  const asked = [
    body('hi|hello'),
    body(`hi|hello|use ${token}|done`),
    body(`hi|hello|use ${token}|done|thanks|welcome`),
    { ...body('hi|hello'), tools: [{ type: 'function', function: { name: 'f', description: token } }] },
  ];
  const nodes = sessionNodes({ turns }, asked, undefined);
  expect(nodes.map(({ holdsSecret }) => holdsSecret)).toEqual([false, true, true, true]);
});
