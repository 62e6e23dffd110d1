import { expect, test } from 'vitest';
import { tokenRecordOf, type UpstreamLogProbs } from './tokens.ts';

const collected = { promptIds: [5, 6], responseIds: [1, 2], logProbs: [-0.5, -0.25] };
const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 9 };
const reasonOf = (more: object, of: object = {}) =>
  tokenRecordOf({ ...collected, ...more }, { ...sampling, ...of }, 'raw', 10).untrainable;

test.each([
  [{}, undefined],
  [{ counted: { prompt: 2, response: 2 } }, undefined],
  [{ promptIds: undefined }, 'no-token-ids'],
  [{ promptIds: [] }, 'no-token-ids'],
  [{ responseIds: [] }, 'no-token-ids'],
  [{ responseIds: [1, 9] }, undefined],
  [{ responseIds: [1, 10] }, 'unknown-token-ids'],
  [{ promptIds: [10] }, 'unknown-token-ids'],
  [{ logProbs: [-0.5] }, 'no-log-probs'],
  [{ logProbs: [-0.5, -0.1, -0.2] }, 'no-log-probs'],
  [{ logProbs: [-0.5, Number.NaN] }, 'impossible-log-probs'],
  [{ logProbs: [Number.NEGATIVE_INFINITY, -0.5] }, 'impossible-log-probs'],
  [{ logProbs: [-0.5, -9999] }, 'impossible-log-probs'],
  [{ logProbs: [-0.5, 0.01] }, 'impossible-log-probs'],
  [{ logProbs: [-0.5, 0.0001] }, undefined], // rounding
  [{ counted: { prompt: 2, response: 3 } }, 'token-count-mismatch'],
  [{ counted: { prompt: 1, response: 2 } }, 'token-count-mismatch'],
])('%o: %s', (more, reason) => {
  expect(reasonOf(more)).toBe(reason);
});

const filtered = { topP: 0.9 };
test.each<
  readonly [UpstreamLogProbs, temperature: number, filters: object, effective: number, fits: boolean]
>([
  ['raw', 1, filtered, 1, true],
  ['raw', 0.7, {}, 0.7, false],
  ['raw', 0, {}, 1, true], // greedy answers are recorded at 1
  ['scaled', 0.7, filtered, 0.7, true],
  ['scaled', 0, filtered, 1, true],
  ['scaled', 0.05, {}, 1, false], // it was scaled by 0.05
  ['processed', 0.7, {}, 0.7, true],
  ['processed', 0.7, filtered, 0.7, false],
  ['processed', 1, { minP: 0.1 }, 1, false],
  ['none', 1, {}, 1, false],
])('%s log-probs at %d with %o', (logProbs, temperature, filters, effective, fits) => {
  const { tokens, untrainable } = tokenRecordOf(
    collected,
    { ...sampling, temperature, ...filters },
    logProbs,
  );
  expect(tokens!.effectiveTemperature).toBe(effective);
  expect(untrainable).toBe(fits ? undefined : 'logprob-temperature');
});
