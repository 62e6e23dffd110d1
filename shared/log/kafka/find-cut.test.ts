import { expect, test } from 'vitest';
import { busyPartitions, findCut } from './find-cut.ts';
import type { TopicOffsets, WhichOffset } from './offsets-of-topics.ts';

const offsets = (turns: readonly number[]): TopicOffsets => new Map([['turns', turns]]);
const forever = { patienceMs: 60_000, signal: new AbortController().signal };

/** Answers to `end`, `stable` and `start`, in the order of the questions; the last one again and again. */
function answers(told: Readonly<Record<WhichOffset, readonly (readonly number[])[]>>) {
  const asked = { end: 0, stable: 0, start: 0 };
  return async (which: WhichOffset): Promise<TopicOffsets> => {
    const all = told[which];
    const answer = all[Math.min(asked[which], all.length - 1)]!;
    asked[which] += 1;
    return offsets(answer);
  };
}

test('a partition is busy if its end moves, or if a transaction is open in it', () => {
  const ends = offsets([7, 3]);
  expect(busyPartitions(ends, ends, ends)).toEqual([]);
  expect(busyPartitions(ends, ends, offsets([7, 4]))).toEqual(['turns/1']);
  expect(busyPartitions(ends, offsets([6, 3]), ends)).toEqual(['turns/0']);
  expect(busyPartitions(ends, offsets([6, 4]), offsets([8, 4]))).toEqual(['turns/0', 'turns/1']);
});

test('the cut is at the first moment without writes, with the starts of that moment', async () => {
  const ask = answers({
    end: [[1], [2], [3]],
    stable: [[1], [2], [2], [3]],
    start: [[0], [0], [1], [2], [4]],
  });
  expect(await findCut(ask, forever)).toEqual({
    kind: 'cut',
    cut: { starts: offsets([2]), ends: offsets([3]) },
  });
});

test('without such a moment, the busy partitions are named; an abort ends the wait', async () => {
  const ask = answers({ end: [[3, 5]], stable: [[3, 4]], start: [[0, 0]] });
  expect(await findCut(ask, { ...forever, patienceMs: -1 })).toEqual({ kind: 'busy', busy: ['turns/1'] });
  await expect(findCut(ask, { ...forever, signal: AbortSignal.abort() })).rejects.toThrow('abort');
});
