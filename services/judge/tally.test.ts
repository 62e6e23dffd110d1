import { expect, test } from 'vitest';
import { wishes } from '../../shared/wishes/wishes.ts';
import { acceptedHints, tally, type Vote } from './tally.ts';

const table: [Vote[], number, number][] = [
  [[1, 1, -1], 1, 1 / 3],
  [[1, -1, 0], 0, 0],
  [[1, null, null], 1, 1],
  [[1, -1], 0, 0],
  [[-1, -1, 1], -1, -1 / 3],
  [[1, 1, 0, -1, null], 1, 1 / 4],
  [[1, 1, -1, -1, 0], 0, 0],
  [[null, null, null], 0, 0],
  [[-1], -1, -1],
  [[], 0, 0],
];

test.each(table)('votes %j make %d, mean %d', (votes, score, mean) => {
  expect(tally(votes)).toEqual({ score, mean });
});

test('hints in own words are longer than ten characters, each once, longest first', () => {
  expect(
    acceptedHints(['ten chars.', 'Use a table.', ' Use a table. ', 'Use plain sentences, please.']),
  ).toEqual(['Use plain sentences, please.', 'Use a table.']);
});

test('a wish of the table comes before other words, that of most votes first', () => {
  const [list, short] = [wishes['no-list'].hint, wishes.shorter.hint];
  const own = 'Please write about the second half of the book as well.';
  expect(acceptedHints([own, short, list, 'Ugh.', ` ${list}`])).toEqual([list, short, own]);
});
