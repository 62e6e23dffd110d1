import { expect, test } from 'vitest';
import { openBackend } from '../policy/executors/backend.ts';
import { initialWeights } from '../policy/model/initialise.ts';
import { loadPolicy, weightsInMemory } from '../policy/model/policy.ts';
import type { Random } from '../policy/model/random.ts';
import { createTokenizer } from '../policy/text/tokenizer.ts';
import { dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';
import { clawNanoConfig, paddingId } from './model-files.ts';
import { makeTokenizer } from './tokenizer.ts';
import { train } from './train.ts';

const next = (random: Random) => dialogueMessages(generateDialogue(random));

const options = {
  seed: 'train-test',
  tokens: 2500,
  tokensPerBatch: 512,
  peakLearningRate: 5e-3,
  warmUpTokens: 500,
  paddingId,
  curveEvery: 4,
  heldOutDialogues: 6,
};

test('a run repeats bit by bit, lowers the loss, and leaves no tensor', async () => {
  const executor = await openBackend('auto', { threads: 2 });
  const tokenizer = createTokenizer(makeTokenizer(options.seed));
  const run = async () => {
    const weights = initialWeights(clawNanoConfig, options.seed);
    const policy = await loadPolicy(weightsInMemory(clawNanoConfig, weights), executor);
    const before = executor.tensorCount();
    const curve = [...train(policy, weights, tokenizer, { ...options, next })].filter(
      (point) => point !== undefined,
    );
    expect(executor.tensorCount()).toBe(before);
    policy.dispose();
    return { weights, curve };
  };
  const first = await run();
  expect(first.curve.length).toBeGreaterThanOrEqual(3);
  expect(first.curve[0]!.trainingLoss).toBeCloseTo(Math.log(1024), 0);
  expect(first.curve.at(-1)!.heldOutLoss).toBeLessThan(first.curve[0]!.heldOutLoss - 0.5);
  const second = await run();
  for (const [name, values] of first.weights) expect(second.weights.get(name), name).toEqual(values);
});
