import { describe, expect, test } from 'vitest';
import { createRandom } from '../model/random.ts';
import { readReference } from '../testing/reference-fixtures.ts';
import {
  changesLogits,
  effectiveTemperature,
  type SamplingSettings,
  sampleToken,
  samplingDistribution,
  topLogProbs,
} from './sampling.ts';

type Options = {
  readonly temperature?: number;
  readonly top_k?: number;
  readonly top_p?: number;
  readonly min_p?: number;
  readonly repetition_penalty?: number;
  readonly frequency_penalty?: number;
  readonly presence_penalty?: number;
  readonly logit_bias?: Record<string, number>;
};
type SamplingReference = {
  readonly rows: Record<string, number[]>;
  readonly prompt_ids: number[];
  readonly generated_ids: number[];
  readonly cases: { logits: string; options: Options; kept: number[]; probs: number[] }[];
};
type Losses = {
  readonly cases: {
    group: string;
    inputs: { logits: number[][]; chosen: number[] };
    options: { temperature: number };
    log_probs: number[][];
  }[];
};

const settingsOf = (options: Options): SamplingSettings => ({
  temperature: options.temperature ?? 1,
  ...(options.top_k !== undefined && { topK: options.top_k }),
  ...(options.top_p !== undefined && { topP: options.top_p }),
  ...(options.min_p !== undefined && { minP: options.min_p }),
  ...(options.repetition_penalty !== undefined && { repetitionPenalty: options.repetition_penalty }),
  ...(options.frequency_penalty !== undefined && { frequencyPenalty: options.frequency_penalty }),
  ...(options.presence_penalty !== undefined && { presencePenalty: options.presence_penalty }),
  ...(options.logit_bias !== undefined && {
    logitBias: new Map(Object.entries(options.logit_bias).map(([id, bias]) => [Number(id), bias])),
  }),
});

describe('reference', () => {
  test('all filters and penalties give the reference distribution', () => {
    const { rows, prompt_ids, generated_ids, cases } = readReference(
      'sampling/sampling.json',
    ) as SamplingReference;
    expect(cases).toHaveLength(33);
    for (const { logits, options, kept, probs } of cases) {
      const row = Float32Array.from(rows[logits]!);
      const history = { promptIds: prompt_ids, responseIds: generated_ids };
      const { ids, probabilities } = samplingDistribution(row, settingsOf(options), history);
      const possible = (ids ?? [...row.keys()]).filter((_, index) => probabilities[index]! > 0);
      expect({ options, possible }).toEqual({ options, possible: kept });
      const full = new Float64Array(row.length);
      probabilities.forEach((probability, index) => {
        full[ids?.[index] ?? index] = probability;
      });
      for (const [id, probability] of probs.entries())
        expect(Math.abs(full[id]! - probability)).toBeLessThan(1e-5);
    }
  });

  test('log-probs are those of the unfiltered softmax at the temperature', () => {
    const { cases } = readReference('losses/losses.json') as Losses;
    const distributions = cases.filter(({ group }) => group === 'distribution');
    expect(distributions).toHaveLength(10);
    for (const { inputs, options, log_probs } of distributions) {
      for (const [row, logits] of inputs.logits.entries()) {
        const all = topLogProbs(Float32Array.from(logits), options.temperature, logits.length);
        const shifted = Math.max(...logits.map(Math.abs)) > 500; // f32 holds such logits to 6e-5 only
        expect(all).toHaveLength(logits.length);
        for (const { id, logProb } of all) {
          expect(Math.abs(logProb - log_probs[row]![id]!)).toBeLessThan(shifted ? 2e-4 : 1e-5);
        }
      }
    }
  });
});

const logits = Float32Array.from([0, Math.log(2), Math.log(5), Math.log(2)]); // p = .1 .2 .5 .2

test('tokens are as frequent as their probability, and log-probs ignore the filter', () => {
  const random = createRandom('frequency');
  const counts = [0, 0, 0, 0];
  const draws = 40_000;
  for (let draw = 0; draw < draws; draw++) {
    const { id, logProb } = sampleToken(logits, { temperature: 1, topP: 0.85 }, random);
    counts[id]!++;
    expect(logProb).toBeCloseTo(Math.log([0.1, 0.2, 0.5, 0.2][id]!), 6);
  }
  const expected = [0, 2 / 9, 5 / 9, 2 / 9];
  for (const [id, p] of expected.entries()) {
    expect(Math.abs(counts[id]! / draws - p)).toBeLessThanOrEqual(4 * Math.sqrt((p * (1 - p)) / draws));
  }
});

test('below 0.1 sampling is greedy, and the log-prob is at T = 1', () => {
  const never = () => {
    throw new Error('no random number is needed');
  };
  const { id, logProb } = sampleToken(logits, { temperature: 0 }, never);
  expect(id).toBe(2);
  expect(logProb).toBeCloseTo(Math.log(0.5), 6);
  const biased = { temperature: 0.09, logitBias: new Map([[2, -100]]) };
  expect(sampleToken(logits, biased, never)).toMatchObject({ id: 1 }); // of equals the lower id
  expect([effectiveTemperature(0), effectiveTemperature(0.1), effectiveTemperature(0.7)]).toEqual([
    1, 0.1, 0.7,
  ]);
});

test('a large vocabulary is filtered like a small one', () => {
  const random = createRandom('large');
  const many = Float32Array.from({ length: 5000 }, () => 8 * random());
  const p = topLogProbs(many, 1, 5000).map(({ id, logProb }) => ({ id, p: Math.exp(logProb) }));
  let reached = 0;
  const wanted = p.filter((token) => {
    const needed = reached < 0.7;
    reached += token.p;
    return needed;
  });
  const sortedIds = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);
  const { ids } = samplingDistribution(many, { temperature: 1, topP: 0.7 });
  expect(ids).toEqual(sortedIds(wanted.map(({ id }) => id)));
  const top = samplingDistribution(many, { temperature: 1, topK: 1000 });
  expect(top.ids).toEqual(sortedIds(p.slice(0, 1000).map(({ id }) => id)));
  const few = samplingDistribution(many, { temperature: 1, topK: 20 });
  expect(few.ids).toEqual(sortedIds(p.slice(0, 20).map(({ id }) => id)));
});

test('the extremes of the uniform number never pick a filtered token', () => {
  for (const uniform of [0, 0.5, 1 - 2 ** -53]) {
    for (const topK of [1, 2, 3]) {
      const { id } = sampleToken(logits, { temperature: 1, topK }, () => uniform);
      expect(topK === 1 ? [2] : [1, 2, 3]).toContain(id);
    }
    const forbidden = Float32Array.from([0, -Infinity, 0, -Infinity]);
    expect([0, 2]).toContain(sampleToken(forbidden, { temperature: 1 }, () => uniform).id);
  }
});

test('non-finite logits are an error', () => {
  expect(() => sampleToken(Float32Array.of(Number.NaN, 1), { temperature: 1 }, () => 0.5)).toThrow(
    'not finite',
  );
  expect(() => sampleToken(Float32Array.of(1, Infinity), { temperature: 0 }, () => 0.5)).toThrow(
    'not finite',
  );
});

test('penalties and bias are distinguished from filters', () => {
  expect(changesLogits({ temperature: 0.7, topK: 20, topP: 0.8, minP: 0.1, logitBias: new Map() })).toBe(
    false,
  );
  expect(changesLogits({ temperature: 1, frequencyPenalty: 0.1 })).toBe(true);
  expect(changesLogits({ temperature: 1, logitBias: new Map([[3, 1]]) })).toBe(true);
});
