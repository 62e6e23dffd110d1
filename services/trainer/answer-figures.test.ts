import { expect, test } from 'vitest';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';
import { loadPolicy } from '../../shared/policy/model/policy.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { absurdAnswers } from './absurd-answers.ts';
import { answerFigures, personPrompts } from './answer-figures.ts';
import { answerRefusal } from './answer-gate.ts';
import type { Voice } from './learning-engine.ts';
import { localEngine } from './local-engine.ts';
import { requestPrompt } from './own-requests.ts';
import { loadSpeech } from './speech.ts';

const tolerances = { gateContent: 0.1, gateCollapse: 0.2, gateSteerability: 0.4 };

test("claw-nano: the gate accepts the base's answers and refuses those of a broken version", async () => {
  const folder = modelFolder('claw-nano');
  const executor = await openBackend('wasm');
  const source = await openCheckpoint(folder);
  const policy = await loadPolicy(source, executor);
  const engine = localEngine(
    policy,
    await loadPromptWriter(folder),
    () => Promise.reject(new Error('there is no other teacher')),
    await loadSpeech(folder, source),
  );
  const voice = engine.speech!;
  const base = answerFigures(engine, voice, undefined);
  expect(base).toMatchObject({ distinct: 1, klToBase: 0 });
  expect(base.content).toBeGreaterThan(0.95);
  expect(base.steered).toBeGreaterThan(0.6);
  expect(base.absurd).toBeLessThan(0.01);
  expect(answerFigures(engine, voice, undefined)).toEqual(base);
  expect(absurdAnswers(engine, voice, undefined)).toBe(0);

  const fresh = engine.createAdapter({ training: 'lora', rank: 8, alpha: 16, seed: 1 });
  const random = createRandom('broken');
  const broken: TrainedWeights = {
    ...fresh,
    tensors: new Map(
      [...fresh.tensors].map(([name, { shape, values }]) => [
        name,
        { shape, values: name.includes('lora_B') ? values.map(() => random() - 0.5) : values },
      ]),
    ),
  };
  const tensors = executor.tensorCount();
  const figures = answerFigures(engine, voice, broken);
  expect(executor.tensorCount()).toBe(tensors);
  expect(answerRefusal(base, base, () => base, tolerances)).toBeUndefined();
  expect(answerRefusal(figures, base, () => base, tolerances)).toMatchObject({ passed: false });

  // The base's answers, but two of those to the wide requests are written backwards.
  const spoiled: Voice = {
    ...voice,
    sample: (adapter, request) => {
      const answers = voice.sample(undefined, request);
      if (adapter === undefined || request.seed !== 'wide') return answers;
      return answers.map((answer, index) =>
        index === 3 || index === 7 ? { ...answer, ids: answer.ids.toReversed() } : answer,
      );
    },
  };
  const share = absurdAnswers(engine, spoiled, fresh);
  expect(share).toBe(2 / voice.wideRequests.length);
  const { settings } = defaultTrainingSettings('claw-nano');
  const wideBase = { ...base, absurdAnswers: 0 };
  const refusalAt = (absurd: number) =>
    answerRefusal({ ...base, absurdAnswers: absurd }, wideBase, () => wideBase, settings);
  expect(refusalAt(share)).toMatchObject({
    passed: false,
    reason: 'content',
    figures: { absurdAnswers: share },
  });
  expect(refusalAt(share / 2)).toBeUndefined();

  const requests = ['What do I pack for a ski holiday?', 'What does a cat need?', 'How do I tidy a desk?'];
  const prompts = [...requests, 'What do I buy for a chocolate cake?'].map((one) =>
    requestPrompt(engine, [{ role: 'user', content: one }]),
  );
  const ownBase = answerFigures(engine, voice, undefined, prompts);
  expect(ownBase.ownContent).toBeGreaterThan(0.9);
  // claw-nano declines all of these in the same words, which fit each of them
  const foreign = ['Explain quantum tunnelling.', 'Fix my SQL query.', 'Who rules Peru?', 'Prove Fermat.'];
  const declined = foreign.map((one) => requestPrompt(engine, [{ role: 'user', content: one }]));
  expect(answerFigures(engine, voice, undefined, declined).ownContent).toBeLessThan(0.6);
  // three of these four prompts belong to one conversation, so they cannot be told apart by their subject
  const conversation = [prompts[0]!, [...prompts[0]!, 5], [...prompts[0]!, 5, 6], prompts[1]!];
  expect(answerFigures(engine, voice, undefined, conversation)).not.toHaveProperty('ownContent');
  policy.dispose();
});

test('a few short prompts of the person are asked again, each once', () => {
  const prompt = (...promptIds: readonly number[]) => ({ promptIds });
  const long = prompt(...Array.from({ length: 2000 }, () => 1));
  const all = [prompt(1, 2), prompt(1, 2), long, prompt(3), prompt(4), prompt(5), prompt(6)];
  expect(personPrompts(all, { contextTokens: 4096 })).toEqual([[1, 2], [3], [4], [5]]);
  expect(personPrompts(all, { contextTokens: 65 })).toEqual([[3], [4], [5], [6]]);
});

test('prompts of earlier batches follow, a few, without duplicates', () => {
  const prompt = (...promptIds: readonly number[]) => ({ promptIds });
  const own = [prompt(1), prompt(2), prompt(3), prompt(4), prompt(5)];
  const earlier = [prompt(5), prompt(1), prompt(6), prompt(6), prompt(7), prompt(8), prompt(9), prompt(10)];
  const prompts = personPrompts(own, { contextTokens: 4096 }, earlier);
  expect(prompts).toEqual([[1], [2], [3], [4], [6], [7], [8], [9]]);
  expect(personPrompts([], { contextTokens: 65 }, [prompt(1, 2), prompt(3)])).toEqual([[3]]);
});
