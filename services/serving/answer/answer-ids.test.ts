import { expect, test } from 'vitest';
import { laneOf } from '../sessions/lane.ts';
import { choiceId, createAnswerIds, laneOfCompletion } from './answer-ids.ts';

const ids = createAnswerIds(Buffer.alloc(32, 1));
const lane = laneOf('ann', undefined);
const apis = ['chat', 'messages', 'responses'] as const;

test('the id of an answer contains its lane, readable for its key', () => {
  for (const api of apis) {
    const id = ids.make('ann', lane, api, 128);
    expect(laneOfCompletion(id)).toBe(lane);
    for (const choice of [0, 1, 127]) expect(ids.laneOf(choiceId(id, choice), 'ann')).toBe(lane);
    expect(createAnswerIds(Buffer.alloc(32, 1)).laneOf(id, 'ann')).toBe(lane);
  }
  expect(new Set(Array.from({ length: 1000 }, () => ids.make('ann', lane, 'chat'))).size).toBe(1000);
});

test('the id of a choice that was never made is rejected', () => {
  const known = (choices: number | undefined, choice: number) =>
    ids.laneOf(choiceId(ids.make('ann', lane, 'chat', choices), choice), 'ann') !== undefined;
  expect([known(undefined, 0), known(undefined, 1), known(3, 2), known(3, 3), known(128, 128)]).toEqual([
    true,
    false,
    true,
    false,
    false,
  ]);
});

test('another key, another secret or a changed digit invalidates an id', () => {
  const id = ids.make('ann', lane, 'chat');
  for (const key of ['bob', '', 'ann2']) expect(ids.laneOf(id, key)).toBeUndefined();
  expect(createAnswerIds(Buffer.alloc(32, 2)).laneOf(id, 'ann')).toBeUndefined();
  for (let at = 0; at < id.length; at++) {
    const other = id[at] === '0' ? '1' : '0';
    expect(ids.laneOf(id.slice(0, at) + other + id.slice(at + 1), 'ann'), String(at)).toBeUndefined();
  }
  expect(ids.laneOf(id.replace('chatcmpl-', 'resp_'), 'ann')).toBeUndefined();
  const made = `chatcmpl-${lane}-${'f'.repeat(32)}`;
  expect([laneOfCompletion(made), ids.laneOf(made, 'ann')]).toEqual([lane, undefined]);
});

test('a text without the form of an id is rejected', () => {
  const id = ids.make('ann', lane, 'chat');
  for (const none of [
    'chatcmpl-abc',
    `chatcmpl-${lane}-xyz`,
    '',
    `x${id}`,
    `${id}-0`,
    `${id}-1000`,
    `${id}0`,
  ])
    expect([laneOfCompletion(none), ids.laneOf(none, 'ann')], none).toEqual([undefined, undefined]);
});
