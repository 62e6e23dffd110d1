import { expect, test } from 'vitest';
import { checkName, checkSequences, chunksOf, createDatum } from './datum.ts';
import { scoringDatums, surrogateDatums } from './surrogate.ts';

const sequence = { promptIds: [1, 2, 3], responseIds: [4, 5] };
const rowsOf = ({ inputs }: { readonly inputs: ReadonlyMap<string, { readonly data: readonly number[] }> }) =>
  Object.fromEntries([...inputs].map(([name, { data }]) => [name, data]));

test('targets are the inputs shifted by one, and rows are 0 over the prompt', () => {
  const datum = createDatum(sequence, { weights: { values: Float32Array.of(0.5, -2) } });
  expect(datum.tokens).toEqual([1, 2, 3, 4]);
  expect(rowsOf(datum)).toEqual({ target_tokens: [2, 3, 4, 5], weights: [0, 0, 0.5, -2] });
});

test('candidates follow the sampled token of each position', () => {
  const ids = Int32Array.of(7, 8, 9, 10);
  const slopes = {
    sampled: [[1, 2]],
    candidates: { count: 2, ids: [ids], slopes: [[3, 4, 5, 6]] },
  };
  const context = { current: [[-1, -1]], sequencesUntilStep: 1 };
  const surrogate = { loss: 'cross_entropy', mask: false, averages: false } as const;
  const [datum] = surrogateDatums(surrogate, [sequence], slopes, context);
  expect(datum!.inputs.get('target_tokens')).toEqual({
    data: [2, 0, 0, 3, 0, 0, 4, 7, 8, 5, 9, 10],
    dtype: 'int64',
    shape: [4, 3],
  });
  expect(datum!.inputs.get('weights')!.data.map((w) => w + 0)).toEqual([
    0, 0, 0, 0, 0, 0, -1, -3, -4, -2, -5, -6,
  ]);
  const [scoring] = scoringDatums([sequence], { count: 2, ids: [ids] });
  expect(scoring!.inputs.get('target_tokens')).toEqual(datum!.inputs.get('target_tokens'));
});

test('a server that averages gets advantages times its tokens and all sequences until the step', () => {
  const surrogate = { loss: 'importance_sampling', mask: true, averages: true } as const;
  const context = { current: [[-1, -2]], sequencesUntilStep: 5 };
  const [datum] = surrogateDatums(surrogate, [sequence], { sampled: [[0.25, -1]] }, context);
  expect(rowsOf(datum!)).toEqual({
    target_tokens: [2, 3, 4, 5],
    weights: [0, 0, 1, 1],
    logprobs: [0, 0, -1, -2],
    advantages: [0, 0, -2.5, 10],
  });
});

test.each([
  ['an empty response', { promptIds: [1], responseIds: [] }],
  ['an empty prompt', { promptIds: [], responseIds: [1] }],
  ['a token above the vocabulary', { promptIds: [1], responseIds: [100] }],
  ['a negative token', { promptIds: [-1], responseIds: [1] }],
  ['a fraction', { promptIds: [1], responseIds: [1.5] }],
  ['more tokens than the model takes', { promptIds: [1, 1, 1, 1, 1], responseIds: [1, 1, 1, 1] }],
])('%s is not sent', (_, bad) => {
  const limits = { vocabularySize: 100, contextTokens: 8 };
  checkSequences([sequence], limits);
  expect(() => checkSequences([sequence, bad], limits)).toThrow(
    /sequence 1 .* was not sent|was not sent: sequence 1/,
  );
});

test('values that f32 cannot hold are not sent', () => {
  for (const value of [Number.NaN, Infinity, 1e39])
    expect(() => createDatum(sequence, { weights: { values: [0, value] } })).toThrow(
      `weights contains ${value}`,
    );
  expect(() => createDatum(sequence, { weights: { values: [0] } })).toThrow('1 values for 2 tokens');
});

test('names of states have letters, digits, _ and -', () => {
  checkName('default-v0012_a1');
  for (const name of ['', '../x', 'a/b', 'a b', 'ä', 'x'.repeat(201)])
    expect(() => checkName(name)).toThrow('name');
});

test('requests have at most 1024 datums and 5 MB, in order', () => {
  const small = createDatum(sequence, {});
  const counts = (count: number, bytes: number) =>
    chunksOf(
      Array.from({ length: count }, () => small),
      bytes,
    ).map(({ length }) => length);
  expect(counts(2050, 8)).toEqual([1024, 1024, 2]);
  // 8 numbers each
  expect(counts(5, 250_000)).toEqual([2, 2, 1]);
  expect(counts(2, 1e7)).toEqual([1, 1]);
  expect(counts(0, 8)).toEqual([]);
});
