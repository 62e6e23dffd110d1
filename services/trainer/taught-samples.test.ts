import { expect, test } from 'vitest';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { hintOf, wishes } from '../../shared/wishes/wishes.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { step } from './step.ts';
import { taughtSamples } from './taught-samples.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';

/** The last id of a hinted prompt, as the toy renders it. */
const HINTED = 9;
const [LIST, PLAIN] = [0, 3];

/** It writes lists unless it reads a hint, whatever the hint says, so only "no lists" is read correctly. */
const speaking: LearningEngine = {
  ...toyEngine,
  contextTokens: 4096,
  speech: {
    read: ([first]) => (first === LIST ? '- rice\n- beans' : 'Rice and beans.'),
    gateRequests: ['one', 'two'],
    wideRequests: [],
    rehearsed: [],
    sample: (_, { prompts }) =>
      prompts.map((prompt) => ({
        ids: [prompt.at(-1) === HINTED ? PLAIN : LIST],
        ended: true,
        temperature: 1,
      })),
  },
};

const judged = (verdict: number, token: number, hints: readonly string[] = []) =>
  sampleData(`${verdict} for ${token}`, {
    verdict,
    hints,
    tokens: { responseIds: [token, token], logProbs: [-1.6, -1.6] },
  });
const praised = (token: number) => judged(1, token);
const settings = { method: 'combine', teacher: 'current', hintCheck: true } as const;
type Standing = readonly string[] | undefined;

const hintsOf = (
  sample: ReturnType<typeof praised>,
  standing: Standing,
  changes: Partial<Pick<TrainingSettings, 'method' | 'teacher' | 'hintCheck'>> = {},
  engine = speaking,
) => {
  const place = { sampleId: sample.sampleId, at: { partition: 0, offset: 0 } };
  const batch = { samples: [standing === undefined ? place : { ...place, standing }] };
  return taughtSamples(engine, { ...settings, ...changes }, batch, [sample])[0]!.hints;
};

test('praise takes the standing wishes that its answer meets', () => {
  expect(hintsOf(praised(PLAIN), ['no-list'])).toEqual([wishes['no-list'].hint]);
  expect(hintsOf(praised(LIST), ['no-list'])).toEqual([]);
  expect(hintsOf(praised(PLAIN), undefined)).toEqual([]);
});

test('a complaint with a known wish takes the others; a free-form hint stays alone', () => {
  const samples = judged(-1, PLAIN, [wishes.shorter.hint]);
  const unchecked = { hintCheck: false };
  expect(hintsOf(samples, ['no-list'], unchecked)).toEqual([hintOf(['no-list', 'shorter'])]);
  expect(hintsOf(samples, undefined, unchecked)).toEqual([wishes.shorter.hint]);
  expect(hintsOf(judged(-1, LIST, ['Put it otherwise!']), ['no-list'])).toEqual(['Put it otherwise!']);
});

test('a wish in doubt is not combined, because its own answer must show its effect', () => {
  const samples = judged(-1, PLAIN, [wishes['no-greeting'].hint]);
  expect(hintsOf(samples, ['no-list'])).toEqual([wishes['no-greeting'].hint]);
});

test('a complaint without a wish takes the standing ones if its answer misses one', () => {
  expect(hintsOf(judged(-1, LIST), ['no-list'])).toEqual([wishes['no-list'].hint]);
  expect(hintsOf(judged(-1, PLAIN), ['no-list'])).toEqual([]);
});

test('a wish that the base misreads does not teach', () => {
  // Both kinds of answers begin without a greeting, with and without the hint.
  expect(hintsOf(praised(PLAIN), ['no-greeting', 'no-list'])).toEqual([wishes['no-list'].hint]);
  expect(hintsOf(praised(PLAIN), ['formal', 'own:abc', 'none'])).toEqual([]);
  expect(hintsOf(praised(PLAIN), ['no-greeting', 'no-list'], { hintCheck: false })).toEqual([
    hintOf(['no-list', 'no-greeting']),
  ]);
});

test('without speech, with another model as teacher, or with binary, there are no standing wishes', () => {
  expect(hintsOf(praised(PLAIN), ['no-list'], { method: 'binary' })).toEqual([]);
  expect(hintsOf(praised(PLAIN), ['no-list'], { hintCheck: false }, toyEngine)).toEqual([]);
  expect(hintsOf(praised(PLAIN), ['no-list'], { teacher: 'owner/other' })).toEqual([]);
});

test('a standing wish teaches in addition to praise', async () => {
  const record = praised(PLAIN);
  const settings = { distillation: 'topk', topK: 3, hintCheck: true, rules: 3 } as const;
  const learn = async (standing: Standing) => {
    const batch = batchData(1, [record], settings);
    const samples = batch.samples.map((place) => (standing === undefined ? place : { ...place, standing }));
    const result = await step(localTraining(speaking), {
      parent: undefined,
      batch: { ...batch, samples },
      samples: [record],
    });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return result.metrics;
  };
  expect((await learn(['no-list'])).hintsUsed).toBe(1);
  expect((await learn(undefined)).hintsUsed).toBe(0);
});
