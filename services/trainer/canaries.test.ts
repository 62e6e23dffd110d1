import { expect, test } from 'vitest';
import { openBackend } from '../../shared/policy/backend.ts';
import { openCheckpoint } from '../../shared/policy/checkpoint.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { loadPromptWriter } from '../../shared/policy/load-prompt-writer.ts';
import { modelFolder } from '../../shared/policy/model-folder.ts';
import { loadPolicy } from '../../shared/policy/policy.ts';
import { createRandom } from '../../shared/policy/random.ts';
import { canaryFigures, ownPrompts } from './canaries.ts';
import { canaryRefusal } from './canary-gate.ts';
import { localEngine } from './local-engine.ts';
import { loadSpeech } from './speech.ts';

const tolerances = { gateContent: 0.1, gateCollapse: 0.2, gateSteerability: 0.4 };

test("claw-nano: the base's answers are what the gate takes for good ones, and those of a broken version are not", async () => {
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
  const base = canaryFigures(engine, voice, undefined);
  expect(base).toMatchObject({ distinct: 1, klToBase: 0 });
  expect(base.content).toBeGreaterThan(0.95);
  expect(base.steered).toBeGreaterThan(0.6);
  expect(base.absurd).toBeLessThan(0.01);
  expect(canaryFigures(engine, voice, undefined)).toEqual(base);

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
  const figures = canaryFigures(engine, voice, broken);
  expect(executor.tensorCount()).toBe(tensors);
  expect(canaryRefusal(base, base, () => base, tolerances)).toBeUndefined();
  expect(canaryRefusal(figures, base, () => base, tolerances)).toMatchObject({ passed: false });
  policy.dispose();
});

test("the person's prompts are asked again: each once, a few, and none that is long", () => {
  const prompt = (...promptIds: readonly number[]) => ({ promptIds });
  const long = prompt(...Array.from({ length: 2000 }, () => 1));
  const all = [prompt(1, 2), prompt(1, 2), long, prompt(3), prompt(4), prompt(5), prompt(6)];
  expect(ownPrompts(all, { contextTokens: 4096 })).toEqual([[1, 2], [3], [4], [5]]);
  expect(ownPrompts(all, { contextTokens: 65 })).toEqual([[3], [4], [5], [6]]);
});

test('those of earlier batches come behind, a few, and none twice', () => {
  const prompt = (...promptIds: readonly number[]) => ({ promptIds });
  const own = [prompt(1), prompt(2), prompt(3), prompt(4), prompt(5)];
  const earlier = [prompt(5), prompt(1), prompt(6), prompt(6), prompt(7), prompt(8), prompt(9), prompt(10)];
  const asked = ownPrompts(own, { contextTokens: 4096 }, earlier);
  expect(asked).toEqual([[1], [2], [3], [4], [6], [7], [8], [9]]);
  expect(ownPrompts([], { contextTokens: 65 }, [prompt(1, 2), prompt(3)])).toEqual([[3]]);
});
