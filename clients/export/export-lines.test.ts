import { expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { type ExportLine, exportLines } from './export-lines.ts';
import type { ExportNode } from './session-nodes.ts';

type Given = {
  readonly parent?: string | null;
  readonly prompt: readonly number[];
  readonly answer: readonly number[];
  readonly own?: number | null;
  readonly earned?: number | null;
  readonly version?: number;
  readonly finishReason?: InteractionCompleted['data']['finishReason'];
  readonly reason?: string | null;
  readonly isSide?: boolean;
};

/** Log-probs are -id / 10 of the answer's tokens. */
function node(id: string, { prompt, answer, ...given }: Given): ExportNode {
  const { parent = null, own = null, earned = 0, version = 0, finishReason = 'stop', reason = null } = given;
  const tokens = {
    promptIds: prompt,
    responseIds: answer,
    logProbs: answer.map((token) => -token / 10),
    effectiveTemperature: 1,
    greedy: false,
    filters: { topP: 1, topK: 0 },
  };
  const data = { api: 'chat', model: 'clawloop', adapter: 'default', version, finishReason, tokens };
  return {
    turn: { id, at: { partition: 0, offset: 0 }, reason, earned: undefined },
    data: data as unknown as InteractionCompleted['data'],
    parent,
    own,
    earned,
    advantage: null,
    isSide: given.isSide ?? false,
    holdsSecret: reason === 'secret',
  };
}

const session = { session: 's', task: 'demo' };
const lines = (style: 'individual' | 'concat', nodes: readonly ExportNode[], discount = 1) =>
  exportLines(session, nodes, style, discount).lines;
const brief = ({ interaction_ids, input_ids, split, reward }: ExportLine) => [
  interaction_ids.join(' '),
  input_ids.join(' '),
  split,
  reward,
];

/** Three turns, the second cut by its length. Token 9 ends an answer, and is inserted if it is missing. */
const chain = [
  node('a', { prompt: [1, 2], answer: [3, 9], earned: 0.25, version: 3 }),
  node('b', {
    parent: 'a',
    prompt: [1, 2, 3, 9, 4],
    answer: [5, 6],
    earned: 0.5,
    version: 4,
    finishReason: 'length',
    reason: 'truncated',
  }),
  node('c', {
    parent: 'b',
    prompt: [1, 2, 3, 9, 4, 5, 6, 9, 7],
    answer: [8, 9],
    own: 1,
    earned: 1,
    version: 5,
  }),
];

test('individual: one line per answer, as computed by hand', () => {
  const [a, b, c] = lines('individual', chain, 0.5) as [ExportLine, ExportLine, ExportLine];
  expect(a).toEqual({
    session_id: 's',
    task: 'demo',
    style: 'individual',
    interaction_ids: ['a'],
    turn: 'main',
    api: 'chat',
    model: 'clawloop',
    adapter: 'default',
    input_ids: [1, 2, 3, 9],
    loss_mask: [0, 0, 1, 1],
    logprobs: [0, 0, -0.3, -0.9],
    versions: [-1, -1, 3, 3],
    reward: 0.25,
    rewards: [0.25],
    own_rewards: [null],
    advantages: [null],
    temperatures: [1],
    not_trained: [null],
    finish_reason: 'stop',
    split: null,
  });
  expect([b.reward, b.own_rewards, b.not_trained, b.finish_reason]).toEqual([
    0.5,
    [null],
    ['truncated'],
    'length',
  ]);
  expect([c.reward, c.own_rewards, c.loss_mask]).toEqual([1, [1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]]);
});

test('concat: earlier tokens appear once, each answer with its own numbers', () => {
  const [line, ...others] = lines('concat', chain, 0.5);
  expect(others).toEqual([]);
  expect(line).toMatchObject({
    interaction_ids: ['a', 'b', 'c'],
    input_ids: [1, 2, 3, 9, 4, 5, 6, 9, 7, 8, 9],
    loss_mask: [0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1],
    logprobs: [0, 0, -0.3, -0.9, 0, -0.5, -0.6, 0, 0, -0.8, -0.9],
    versions: [-1, -1, 3, 3, -1, 4, 4, -1, -1, 5, 5],
    reward: 0.25,
    rewards: [0.25, 0.5, 1],
    own_rewards: [null, null, 1],
    split: null,
  });
});

test('concat: one line per leaf, without the rewards of other branches', () => {
  const nodes = [
    node('a', { prompt: [1], answer: [2], earned: 0 }),
    node('b', { parent: 'a', prompt: [1, 2, 3], answer: [4], own: 1, earned: 1 }),
    node('c', { parent: 'a', prompt: [1, 2, 5], answer: [6], own: -1, earned: -1 }),
    node('d', { prompt: [7], answer: [8], own: 0.5, earned: 0.5 }),
  ];
  expect(lines('concat', nodes, 0.5).map(brief)).toEqual([
    ['a b', '1 2 3 4', null, 0.5],
    ['a c', '1 2 5 6', null, -0.5],
    ['d', '7 8', null, 0.5],
  ]);
});

test('concat: a line is split where tokens do not continue, and names its parent', () => {
  const nodes = [
    node('a', { prompt: [1, 2], answer: [3], earned: 0.25 }),
    node('b', { parent: 'a', prompt: [1, 2, 30], answer: [4], earned: 0.5 }), // 3 is rendered as 30
    node('c', { parent: 'b', prompt: [1, 2, 30, 4, 5], answer: [6], own: 1, earned: 1 }),
  ];
  expect(lines('concat', nodes, 0.5).map(brief)).toEqual([
    ['a', '1 2 3', null, 0.25],
    ['b c', '1 2 30 4 5 6', 'a', 0.5],
  ]);
});

test('concat: a parent longer than the next request is not a prefix', () => {
  const nodes = [
    node('a', { prompt: [1, 2], answer: [3, 4], earned: 1 }),
    node('b', { parent: 'a', prompt: [1, 2, 3], answer: [5], own: 1, earned: 1 }),
  ];
  expect(lines('concat', nodes).map(brief)).toEqual([
    ['a', '1 2 3 4', null, 1],
    ['b', '1 2 3 5', 'a', 1],
  ]);
});

test('an answer that one branch extends has no line of its own', () => {
  const nodes = [
    node('a', { prompt: [1], answer: [2], earned: 1 }),
    node('b', { parent: 'a', prompt: [1, 2, 3], answer: [4], own: 1, earned: 1 }),
    node('c', { parent: 'a', prompt: [5], answer: [6], own: 1, earned: 1 }),
  ];
  expect(lines('concat', nodes).map(brief)).toEqual([
    ['a b', '1 2 3 4', null, 1],
    ['c', '5 6', 'a', 1],
  ]);
});

test.each(['secret', 'deleted'])(
  'answers that were cut off, or %s, have no line, and no weight in that of others',
  (reason) => {
    const nodes = [
      node('a', { prompt: [1], answer: [2], earned: 0.5 }),
      node('b', { parent: 'a', prompt: [1, 2, 3], answer: [4], own: 0.25, earned: 0.5, reason }),
      node('c', { parent: 'b', prompt: [1, 2, 3, 4, 5], answer: [6], own: 0.25, earned: 0.25 }),
      node('d', { parent: 'c', prompt: [1, 2, 3, 4, 5, 6, 7], answer: [8], finishReason: 'aborted' }),
    ];
    const { lines: made, leftOut, withSecrets } = exportLines(session, nodes, 'concat', 1);
    expect([leftOut, withSecrets]).toEqual(reason === 'secret' ? [1, 1] : [2, 0]);
    expect(made.map(brief)).toEqual([['a c', '1 2 3 4 5 6', null, 0.5]]);
    expect(made[0]!.loss_mask).toEqual([0, 1, 0, 0, 0, 1]);
  },
);

test('side requests have their own lines, and a place in a path only if rewarded', () => {
  const nodes = [
    node('a', { prompt: [1], answer: [2], own: 1, earned: 1 }),
    node('t', { prompt: [7], answer: [8], isSide: true, earned: null, reason: 'side' }),
  ];
  expect(lines('individual', nodes).map(({ turn, reward }) => [turn, reward])).toEqual([
    ['main', 1],
    ['side', null],
  ]);
  expect(lines('concat', nodes).map(({ interaction_ids }) => interaction_ids)).toEqual([['a']]);
});

test('the lines of a session without rewards have no reward', () => {
  const nodes = chain.map((one) => ({ ...one, own: null, earned: null }));
  expect(lines('concat', nodes)).toMatchObject([{ reward: null, rewards: [null, null, null] }]);
});
