import { expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { checkpointDigest } from '../../shared/policy/checkpoints/state.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { type AnswerFigures, repetitionOf } from './answer-figures.ts';
import { answerRefusal, checksAnswers } from './answer-gate.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { drawToken, klDivergence, TOY_VOCABULARY, toyEngine, toyLogProbs } from './testing/toy-engine.ts';

const base: AnswerFigures = {
  distinct: 1,
  ended: 0.6,
  length: 50,
  entropy: 0.2,
  repetition: 0,
  klToBase: 0,
  content: 0.99,
  ownContent: 0.9,
  absurd: 0,
  steered: 0.7,
  absurdAnswers: 0.02,
};
const tolerances = { gateContent: 0.1, gateAbsurd: 0.01, gateCollapse: 0.2, gateSteerability: 0.3 };
const refusalOf = (changes: Partial<AnswerFigures>, parent: Partial<AnswerFigures> = {}, by = tolerances) =>
  answerRefusal({ ...base, ...changes }, base, () => ({ ...base, ...parent }), by);

test("answers as good as the base's, or slightly worse, pass", () => {
  expect(refusalOf({})).toBeUndefined();
  expect(
    refusalOf({
      distinct: 0.85,
      ended: 1,
      length: 12,
      entropy: 0.1,
      content: 0.9,
      ownContent: 0.75,
      absurd: 0.04,
      steered: 0.5,
      absurdAnswers: 0.03,
    }),
  ).toBeUndefined();
});

test.each([
  ['one answer for every request', { distinct: 0.08 }, 'collapse'],
  ['the same words again and again', { repetition: 0.5 }, 'collapse'],
  ['answers without an end', { ended: 0 }, 'collapse'],
  ['answers of one token', { length: 1 }, 'collapse'],
  ['certainty', { entropy: 0.01 }, 'collapse'],
  ['noise', { entropy: 1.5 }, 'collapse'],
  ['another subject', { content: 0.6 }, 'content'],
  ["another subject for the person's own prompts", { ownContent: 0.6 }, 'content'],
  ['words that are none', { absurd: 0.2 }, 'content'],
  ['nonsense on some topics', { absurdAnswers: 0.04 }, 'content'],
  ['deaf to wishes', { steered: 0.1 }, 'steerability'],
] as const)('%s is refused with its figures', (_, changes, reason) => {
  const refused = refusalOf(changes);
  const [[figure, value]] = Object.entries(changes) as [[keyof AnswerFigures, number]];
  expect(refused).toMatchObject({ passed: false, reason, figures: { [figure]: value, base: base[figure] } });
  expect(refused?.detail).toContain(String(value));
});

test('bad but improving figures pass; unconfigured figures are not checked', () => {
  expect(refusalOf({ distinct: 0.4 }, { distinct: 0.3 })).toBeUndefined();
  expect(refusalOf({ distinct: 0.4 }, { distinct: 0.4 })).toMatchObject({ reason: 'collapse' });
  expect(refusalOf({ absurd: 0.2 }, { absurd: 0.3 })).toBeUndefined();
  // A count of few answers often stays the same, and must not keep a policy where it is.
  expect(refusalOf({ absurdAnswers: 0.05 }, { absurdAnswers: 0.05 })).toBeUndefined();
  expect(refusalOf({ absurdAnswers: 0.05 }, { absurdAnswers: 0.04 })).toMatchObject({ reason: 'content' });
  const wide = { gateContent: 1, gateAbsurd: 1, gateCollapse: 1, gateSteerability: 1 };
  expect(
    refusalOf({ distinct: 0.1, ended: 0, content: 0, absurd: 0.4, steered: 0 }, {}, wide),
  ).toBeUndefined();
  const none = {} as typeof tolerances;
  expect(refusalOf({ distinct: 0, content: 0, steered: 0 }, {}, none)).toBeUndefined();
  expect([none, tolerances].map(checksAnswers)).toEqual([false, true]);
  for (const [name, tolerance] of Object.entries(tolerances))
    expect(checksAnswers({ [name]: tolerance })).toBe(true);
});

test('a base that cannot tell its own answers apart does not judge the subject of others', () => {
  const unsure = { ...base, content: 0.4 };
  const of = (content: number) => answerRefusal({ ...unsure, content }, unsure, () => unsure, tolerances);
  expect(of(0)).toBeUndefined();
});

test('repeated runs of four tokens are counted', () => {
  expect(repetitionOf([1, 2, 3])).toBe(0);
  expect(repetitionOf([1, 2, 3, 4, 5, 6])).toBe(0);
  expect(repetitionOf([1, 1, 1, 1, 1, 1])).toBeCloseTo(2 / 3, 12);
});

const TOKENS = 12;
/** The toy samples its own tokens until token 0; its requests have one token each. */
const speaking: LearningEngine = {
  ...toyEngine,
  contextTokens: 256,
  writePrompt: ({ messages }) => [1 + (JSON.stringify(messages).length % 3)],
  speech: {
    gateRequests: ['a', 'bb', 'ccc', 'dddd', 'eeeee', 'ffffff', 'ggggggg', 'hhhhhhhh'],
    wideRequests: ['a', 'bb', 'ccc'],
    rehearsed: ['a'],
    read: (ids) => ids.join(' '),
    sample: (file, { prompts, seed, tokens }) =>
      prompts.map((_, index) => {
        const random = createRandom(`${seed}/${index}`);
        const ids: number[] = [];
        while (ids.length < Math.min(tokens, TOKENS) && ids.at(-1) !== 0)
          ids.push(drawToken(toyLogProbs(file), random));
        return { ids, ended: ids.at(-1) === 0, temperature: 1 };
      }),
  },
};
const praised = Array.from({ length: 4 }, (_, index) =>
  sampleData(`${index}`, { tokens: { responseIds: [4], logProbs: [Math.log(1 / TOY_VOCABULARY)] } }),
);
const train = async (engine: LearningEngine, learningRate: number, changes = {}) => {
  const settings = { rank: 2, alpha: 2, learningRate, gateMeanKl: 100, ...changes };
  return (await step(localTraining(engine), {
    parent: undefined,
    batch: batchData(1, praised, settings),
    samples: praised,
  })) as Candidate;
};

test('a step that ends in one answer for everything is refused by its answers only', async () => {
  const collapsed = await train(speaking, 5, { gateCollapse: 0.2 });
  expect(collapsed.gate).toMatchObject({ passed: false, reason: 'collapse' });
  expect(collapsed.metrics.canaryDistinct).toBeLessThan(0.5);
  const unseen = await train(speaking, 5);
  expect(unseen.gate).toEqual({ passed: true });
  expect(unseen.metrics).not.toHaveProperty('canaryDistinct');
  expect(collapsed.adapter).toEqual(unseen.adapter);
  const healthy = await train(speaking, 0.01, { gateCollapse: 0.2 });
  expect(healthy.gate).toEqual({ passed: true });
  expect(healthy.metrics).not.toHaveProperty('canaryAbsurdAnswers');
  expect((await train(speaking, 0.01, { gateAbsurd: 1 })).metrics.canaryAbsurdAnswers).toBe(0);
  // An engine that cannot answer has nothing to check.
  expect((await train(toyEngine, 5, { gateCollapse: 0.2 })).gate).toEqual({ passed: true });
});

test('the refusal of a shortened step reports the figures of that part', async () => {
  const whole = await train(speaking, 5, { gateCollapse: 0.2 });
  expect(whole.metrics).toMatchObject({ candidateScale: 1, stepScale: 0 });
  expect(whole.gate).not.toMatchObject({ figures: { candidateScale: 1 } });
  const bound = { gateMeanKl: 0.9 * whole.metrics.meanKl!, gateLeastScale: 0.125 };
  const unseen = await train(speaking, 5, bound);
  const scale = unseen.metrics.stepScale!;
  expect(scale).toBeGreaterThan(0);
  expect(scale).toBeLessThan(1);
  const refused = await train(speaking, 5, { ...bound, gateCollapse: 0.2 });
  expect(refused.gate).toMatchObject({
    reason: 'collapse',
    detail: expect.stringContaining(`the candidate is ${100 * scale} % of the step`),
    figures: { candidateScale: scale },
  });
  const { meanKl, klToBase } = unseen.metrics;
  expect(refused.metrics).toMatchObject({ meanKl, klToBase, candidateScale: scale, stepScale: 0 });
  expect(refused.metrics.meanKl).toBeCloseTo(
    klDivergence(toyLogProbs(refused.adapter), toyLogProbs(undefined)),
    9,
  );
  // The kept weights do not depend on the answers.
  expect(checkpointDigest(refused)).toBe(checkpointDigest(unseen));
  // Batches of earlier rules are replayed as they were trained.
  const earlier = await train(speaking, 5, { ...bound, gateCollapse: 0.2, rules: 2 });
  expect(checkpointDigest(earlier)).toBe(checkpointDigest(whole));
  expect(earlier.gate).not.toMatchObject({ detail: expect.stringContaining('the candidate is') });
});

test('earlier requests are asked again if they render identically; no weight depends on them', async () => {
  const sampledPrompts = new Set<string>();
  const { writePrompt, speech } = speaking;
  const watched: LearningEngine = {
    ...speaking,
    // a request that differs from all answers
    writePrompt: (input) => (JSON.stringify(input).includes('before') ? [4, 4] : writePrompt(input)),
    speech: {
      ...speech!,
      sample: (file, request) => {
        for (const prompt of request.prompts) if (request.seed === 'own') sampledPrompts.add(prompt.join());
        return speech!.sample(file, request);
      },
    },
  };
  const messages = [{ role: 'user', content: 'before' }] as const;
  const before = (promptIds: readonly number[]) =>
    sampleData(`before ${promptIds}`, { messages: [...messages], tokens: { promptIds: [...promptIds] } });
  const digestWith = async (earlier: readonly SampleReady['data'][]) => {
    sampledPrompts.clear();
    const settings = { rank: 2, alpha: 2, learningRate: 0.01, gateMeanKl: 100, gateCollapse: 0.2 };
    const batch = batchData(1, praised, settings);
    const result = await step(localTraining(watched), {
      parent: undefined,
      batch,
      samples: praised,
      earlier,
    });
    return checkpointDigest(result as Candidate);
  };
  const digest = await digestWith([]);
  expect([...sampledPrompts]).toEqual(['1,2,3']);
  expect(await digestWith([before([4, 4]), before([3, 3])])).toBe(digest);
  expect([...sampledPrompts]).toEqual(['1,2,3', '4,4']);
});

test('the gate asks nothing if the template rejects requests or leaves no room', async () => {
  const asks = { gateCollapse: 0.2 };
  const refusing: LearningEngine = {
    ...speaking,
    writePrompt: () => {
      throw new Error('conversations must begin with a system message');
    },
  };
  for (const engine of [refusing, { ...speaking, contextTokens: 64 }])
    expect((await train(engine, 5, asks)).gate).toEqual({ passed: true, answersChecked: false });
  expect((await train(refusing, 0.01, { rehearsal: 2 })).metrics).not.toHaveProperty('rehearsalKl');
});

test('the same step gives the same figures', async () => {
  const figures = async () => (await train(speaking, 0.1, { gateContent: 1 })).metrics;
  expect(await figures()).toEqual(await figures());
});
