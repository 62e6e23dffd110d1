import { expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { wishes } from '../../shared/wishes/wishes.ts';
import { choosePupils } from './choose-pupils.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { step } from './step.ts';
import { stepSample } from './step-sample.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { ODD_HINT, toyEngine } from './testing/toy-engine.ts';

const settings = {
  rules: 3,
  teacher: 'current',
  distillation: 'topk',
  hintCheck: true,
  ownWordsWeight: 0.3,
} as const;
/** In the toy, a hint makes tokens 1 and 3 less likely and token 0 more likely. */
const LOWERED = 3;
const RAISED = 0;

const sample = (hints: readonly string[], token: number, more: Partial<SampleReady['data']> = {}) =>
  sampleData(`${hints.join()}/${token}`, {
    verdict: -1,
    hints,
    ...more,
    tokens: { responseIds: [token, token], logProbs: [-1.6, -1.6] },
  });
const choose = async (
  records: readonly SampleReady['data'][],
  changes = {},
  engine: LearningEngine = toyEngine,
) =>
  choosePupils(
    { ...engine, here: { engine, exchangeGradients: (gradients) => gradients } },
    { ...settings, ...changes },
    { score: (sequences) => engine.score(undefined, sequences) },
    records.map((record) => [stepSample(record, { advantage: -1, verdictWeight: 1, weight: 1 }), record]),
  );
const own = 'Never say please!';

test('a free-form hint teaches, with less weight, if it makes the criticised answer less likely', async () => {
  const { pupils, without, distrusted } = await choose([sample([own], LOWERED), sample([own], RAISED)]);
  expect(pupils.map(({ sample: { sampleId }, weight }) => [sampleId, weight])).toEqual([
    [`${own}/${LOWERED}`, 0.3],
  ]);
  expect(pupils[0]!.plain).toHaveLength(2);
  expect(without.distrusted).toBe(1);
  expect(distrusted).toMatchObject({ backwards: 1, 'without-effect': 0 });
});

test('a hint without effect does not teach', async () => {
  const deaf: LearningEngine = { ...toyEngine, writePrompt: () => [1, 2, 3] };
  expect(await choose([sample([own], LOWERED)], {}, deaf)).toMatchObject({
    pupils: [],
    distrusted: { 'without-effect': 1 },
  });
});

test('each of several hints is checked separately, and failing ones are left out', async () => {
  // Token 3 is more likely under the odd hint and less likely under the other one.
  const [odd, meant] = [`${ODD_HINT} in their own words`, own];
  const taught = async (hints: readonly string[], changes = {}) =>
    choose([sample(hints, LOWERED)], { distillation: 'overlap', ...changes });
  for (const hints of [
    [odd, meant],
    [meant, odd],
  ]) {
    const { pupils, without, distrusted } = await taught(hints);
    expect(pupils.map(({ prompts }) => prompts)).toEqual([[[1, 2, 3, 9]]]);
    expect(without.distrusted).toBe(0);
    expect(distrusted).toMatchObject({ backwards: 1, 'without-effect': 0 });
  }
  expect(await taught([odd, `${odd}!`])).toMatchObject({
    pupils: [],
    without: { distrusted: 1 },
    distrusted: { backwards: 2 },
  });
  // In batches of earlier rules, the first hint decides for all.
  expect((await taught([odd, meant], { rules: 2 })).pupils).toEqual([]);
  expect((await taught([meant, odd], { rules: 2 })).pupils[0]!.prompts).toHaveLength(2);
});

test('a praised answer need not become less likely', async () => {
  expect((await choose([sample([own], RAISED, { verdict: 1 })])).pupils).toHaveLength(1);
});

test('a known wish precedes a free-form hint and has full weight', async () => {
  const { pupils } = await choose([sample([own, wishes['no-list'].hint], LOWERED)], {
    distillation: 'overlap',
  });
  expect(pupils.map(({ prompts, weight }) => [prompts.length, weight])).toEqual([[1, 1]]);
});

test('a known wish that the base reads as its opposite never teaches', async () => {
  const lists: LearningEngine = {
    ...toyEngine,
    contextTokens: 4096,
    speech: {
      read: (ids) => (ids[0] === 9 ? '- a\n- b' : 'a and b'),
      gateRequests: ['one', 'two'],
      wideRequests: [],
      rehearsed: [],
      sample: (_, { prompts }) =>
        prompts.map((prompt) => ({ ids: [prompt.at(-1)!], ended: true, temperature: 1 })),
    },
  };
  expect(await choose([sample([wishes['no-list'].hint], LOWERED)], {}, lists)).toMatchObject({
    pupils: [],
    without: { distrusted: 1, 'no-hint': 0 },
    distrusted: { backwards: 1 },
  });
  // A hint that is read correctly is not in doubt, so the answer is not scored.
  expect((await choose([sample([wishes.list.hint], RAISED)], {}, lists)).pupils).toHaveLength(1);
});

test('unchecked hints all teach, as in batches of earlier programs', async () => {
  const { pupils, without } = await choose([sample([own], RAISED), sample([own], LOWERED)], {
    hintCheck: false,
    ownWordsWeight: 1,
  });
  expect(pupils.map(({ weight }) => weight)).toEqual([1, 1]);
  expect(without.distrusted).toBe(0);
});

test('a lesson with less weight moves the policy less, with every form of distillation', async () => {
  for (const distillation of ['sampled', 'topk', 'overlap'] as const) {
    const gradient = async (ownWordsWeight: number) => {
      const record = sample([own], LOWERED, { verdict: 0 });
      const changes = { method: 'opd', distillation, hintCheck: true, ownWordsWeight, gapClip: 9 } as const;
      const batch = batchData(1, [record], changes);
      const result = await step(localTraining(toyEngine), { parent: undefined, batch, samples: [record] });
      if (result.kind !== 'candidate') throw new Error(result.detail);
      expect(result.metrics.hintsUsed).toBe(1);
      return result.metrics.gradientNorm!;
    };
    const whole = await gradient(1);
    expect(whole).toBeGreaterThan(0);
    expect((await gradient(0.3)) / whole).toBeCloseTo(0.3, 4);
  }
});
