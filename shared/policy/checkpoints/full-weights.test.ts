import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDecoder } from '../decode/decoding.ts';
import { modelFolder } from '../model/model-folder.ts';
import { loadPolicy, type Policy } from '../model/policy.ts';
import { describeOnBackends } from '../testing/backends.ts';
import { loadChatTemplate } from '../text/chat-template.ts';
import { loadTokenizer } from '../text/tokenizer.ts';
import { meanPolicyKl, scoreResponses } from '../train/scoring.ts';
import { lossAndGradients } from '../train/training.ts';
import { openCheckpoint } from './checkpoint.ts';
import { type FullWeights, readFullWeights, writeFullWeights } from './full-weights.ts';

const clawNano = modelFolder('claw-nano');
const sequences = [
  { promptIds: [1, 2, 3, 4, 5], responseIds: [10, 11, 12] },
  { promptIds: [7, 8], responseIds: [20, 21, 22, 23, 24, 25] },
];

/** Raises the answers' log-probs: one step of plain gradient descent on all weights. */
function learned(policy: Policy, rate: number): FullWeights {
  const weights = policy.copyWeights();
  const adapter = policy.loadAdapter(weights);
  const { gradients } = lossAndGradients(policy, adapter, sequences, {
    loss: (logProbs) => ({
      loss: 0,
      metrics: {},
      gradient: logProbs.map((row) => row.map(() => -1)),
    }),
  });
  adapter.dispose();
  expect([...gradients.keys()].sort()).toEqual([...weights.tensors.keys()].sort());
  for (const [name, { values }] of weights.tensors) {
    const gradient = gradients.get(name)!;
    for (let index = 0; index < values.length; index++) values[index]! -= rate * gradient[index]!;
  }
  return weights;
}

describeOnBackends('all weights of a version', (backend) => {
  test('train without changing a bit of the base, and leave no tensor', async () => {
    const policy = await loadPolicy(await openCheckpoint(clawNano), await backend());
    const base = scoreResponses(policy, undefined, sequences);
    const tensors = policy.executor.tensorCount();

    const same = policy.loadAdapter(policy.copyWeights());
    expect(scoreResponses(policy, same, sequences)).toEqual(base);
    expect(meanPolicyKl(policy, undefined, same, sequences)).toBe(0);
    same.dispose();

    const adapter = policy.loadAdapter(learned(policy, 1e-4));
    const after = scoreResponses(policy, adapter, sequences);
    after.forEach((row, index) => {
      expect(row.reduce((sum, value) => sum + value, 0)).toBeGreaterThan(
        base[index]!.reduce((sum, value) => sum + value, 0),
      );
    });
    expect(scoreResponses(policy, undefined, sequences)).toEqual(base);

    // the decoder uses the trained weights
    const decoder = createDecoder(policy, adapter, { maxSequences: 1, maxPositions: 32 });
    const [{ promptIds, responseIds }] = sequences as [(typeof sequences)[number]];
    const { logits } = decoder.admit(promptIds);
    const largest = Math.max(...logits);
    const normalizer = largest + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - largest), 0));
    expect(Math.abs(logits[responseIds[0]!]! - normalizer - after[0]![0]!)).toBeLessThan(1e-4);
    decoder.dispose();
    adapter.dispose();
    expect(policy.executor.tensorCount()).toBe(tensors);
    policy.dispose();
  });

  test('are uploaded layer by layer, so that the thread can answer in between', async () => {
    const source = await openCheckpoint(clawNano);
    const policy = await loadPolicy(source, await backend());
    const base = scoreResponses(policy, undefined, sequences);
    const count = policy.executor.tensorCount();
    const upload = policy.loadFull(source);
    let step = upload.next();
    let pauses = 0;
    for (; !step.done; step = upload.next()) {
      expect(scoreResponses(policy, undefined, sequences)).toEqual(base);
      pauses += 1;
    }
    expect(pauses).toBe(source.config.layers);
    expect(scoreResponses(policy, step.value, sequences)).toEqual(base);
    step.value.dispose();
    expect(policy.executor.tensorCount()).toBe(count);
    policy.dispose();
  });

  test('are refused if they do not fit the model, and leave no tensor', async () => {
    const policy = await loadPolicy(await openCheckpoint(clawNano), await backend());
    const { tensors } = policy.copyWeights();
    const count = policy.executor.tensorCount();
    const last = 'model.layers.4.mlp.down_proj.weight';
    const without = new Map([...tensors].filter(([name]) => name !== last));
    expect(() => policy.loadAdapter({ kind: 'full', tensors: without })).toThrow(last);
    const short = new Map([...tensors, [last, { shape: [3], values: new Float32Array(3) }]]);
    expect(() => policy.loadAdapter({ kind: 'full', tensors: short })).toThrow('has shape [3]');
    expect(policy.executor.tensorCount()).toBe(count);
    policy.dispose();
  });
});

test('full weights are written as a separate model', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-full-weights-'));
  try {
    const source = await openCheckpoint(clawNano);
    const tensors = new Map(
      source.names.map((name) => [
        name,
        { shape: source.shape(name), values: source.float32(name).map((value) => value / 3) },
      ]),
    );
    await writeFullWeights(folder, { kind: 'full', tensors }, clawNano);
    expect(await readFullWeights(folder)).toEqual({ kind: 'full', tensors });
    const written = await openCheckpoint(folder);
    expect(written.config).toEqual(source.config);
    expect(written.generationConfig).toEqual(source.generationConfig);
    const text = 'How do I pack?';
    expect((await loadTokenizer(folder)).encode(text)).toEqual((await loadTokenizer(clawNano)).encode(text));
    const chat = { messages: [{ role: 'user', content: text }], addGenerationPrompt: true } as const;
    expect((await loadChatTemplate(folder)).render(chat)).toBe(
      (await loadChatTemplate(clawNano)).render(chat),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
