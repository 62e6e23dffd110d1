import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAdapter } from '../checkpoints/adapter-files.ts';
import type { Adapter, Policy } from '../model/policy.ts';
import { createRandom } from '../model/random.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { readReference } from '../testing/reference-fixtures.ts';
import {
  logitTolerance,
  logProbTolerance,
  modelFolderOf,
  models,
  openReferenceModel,
  readModelReference,
  readTensors,
  trainedModels,
} from '../testing/reference-model.ts';
import { scoreResponses } from '../train/scoring.ts';
import { createDecoder } from './decoding.ts';
import { sampleToken } from './sampling.ts';
import { createSharedPrefixes, type SharedPrefixes } from './shared-prefixes.ts';

const LoraReference = z.looseObject({ ids: z.array(z.int()) });

/** ln p of a token at a temperature, in f64. */
function logProbOf(logits: ArrayLike<number>, id: number, temperature: number): number {
  const scaled = Array.from(logits, (logit) => logit / temperature);
  const top = scaled.reduce((a, b) => Math.max(a, b), -Infinity);
  return scaled[id]! - top - Math.log(scaled.reduce((sum, value) => sum + Math.exp(value - top), 0));
}

type Forced = { readonly ids: readonly number[]; readonly prompt: number };
type ForcedResult = {
  readonly ids: readonly number[];
  readonly prompt: number;
  readonly logits: Float32Array[];
};

type Reading = {
  /** Tokens of a prompt that are read between two steps of the others. */
  readonly pieceTokens?: number;
  readonly prefixes?: SharedPrefixes;
};

/**
 * Decodes given texts concurrently through the cache: each begins when a slot is free, its prompt is read piece by
 * piece, and at every token a random part of the sequences takes a step.
 *
 * @returns for each text, the logits from its prompt's last token on; and the number of cached tokens
 */
function forceThrough(
  policy: Policy,
  adapter: Adapter | undefined,
  texts: readonly Forced[],
  slots: number,
  { pieceTokens = 256, prefixes }: Reading = {},
): { readonly results: readonly ForcedResult[]; readonly cachedTokens: number } {
  const random = createRandom('composition');
  const limits = { maxSequences: slots, maxPositions: 512, pieceTokens };
  const decoder = createDecoder(policy, adapter, limits, prefixes);
  const results = texts.map((text): ForcedResult => ({ ...text, logits: [] }));
  const waiting = [...results];
  const begun = new Map<number, ForcedResult>();
  const running = new Map<number, { readonly text: ForcedResult; next: number }>();
  let cachedTokens = 0;
  while (waiting.length > 0 || begun.size > 0 || running.size > 0) {
    while (waiting.length > 0 && begun.size + running.size < slots) {
      const text = waiting.shift()!;
      begun.set(decoder.begin(text.ids.slice(0, text.prompt)), text);
    }
    for (const [slot, text] of begun) {
      const read = decoder.read(slot);
      if (read === undefined) continue;
      text.logits.push(read.logits);
      cachedTokens += read.cachedTokens;
      begun.delete(slot);
      running.set(slot, { text, next: text.prompt });
    }
    const chosen = [...running].filter(() => random() < 0.8);
    const steps = decoder.step(chosen.map(([slot, { text, next }]) => ({ slot, id: text.ids[next]! })));
    chosen.forEach(([slot, one], index) => {
      one.text.logits.push(steps[index]!);
      one.next += 1;
      if (one.next < one.text.ids.length) return;
      decoder.release(slot);
      running.delete(slot);
    });
  }
  decoder.dispose();
  return { results, cachedTokens };
}

describe('serving and training agree with the reference', () => {
  describeOnBackends('serving', (open) => {
    test.each(models)('%s: log-probs of every token, decoded beside any other sequences', async (name) => {
      const policy = await openReferenceModel(name, await open());
      const { prompts } = readModelReference(name);
      const texts = prompts
        .filter(({ ids }) => ids.length > 1)
        // Cut early and late: short texts join long ones, and leave them.
        .flatMap(({ ids }) => [
          { ids, prompt: 1 + Math.floor(ids.length / 4) },
          { ids, prompt: ids.length - 3 },
        ]);
      const pieces = { pieceTokens: 16, prefixes: createSharedPrefixes(policy.config, 2 ** 28) };
      const inPieces = forceThrough(policy, undefined, [...texts, texts.at(-1)!], 2, pieces);
      expect(inPieces.cachedTokens).toBeGreaterThanOrEqual(64); // the longest came again
      const whole = forceThrough(policy, undefined, texts, 3);
      for (const { ids, prompt, logits } of [...whole.results, ...inPieces.results]) {
        const wanted = prompts.find((one) => one.ids === ids)!.log_probs;
        for (const [text, logProbs] of Object.entries(wanted)) {
          const temperature = Number(text);
          const responseIds = ids.slice(prompt);
          const served = responseIds.map((id, t) => logProbOf(logits[t]!, id, temperature));
          expect(largestDifference(served, logProbs.slice(prompt - 1))).toBeLessThan(logProbTolerance);
          const sequence = { promptIds: ids.slice(0, prompt), responseIds, temperature };
          const [trained] = scoreResponses(policy, undefined, [sequence]);
          expect(largestDifference(served, trained!)).toBeLessThan(logProbTolerance);
        }
      }
      policy.dispose();
    });

    test.each(trainedModels)('%s: log-probs under an adapter that PEFT wrote', async (name) => {
      const policy = await openReferenceModel(name, await open());
      const adapter = policy.loadAdapter(await readAdapter(`${modelFolderOf(name)}/lora`));
      const { ids } = LoraReference.parse(readReference(`models/${name}/lora/reference.json`));
      const wanted = (await readTensors(name, 'lora/reference.safetensors')).float32('logits.p33');
      const width = policy.config.vocabularySize;
      const texts = [4, 11, 30].map((prompt) => ({ ids, prompt }));
      for (const { prompt, logits } of forceThrough(policy, adapter, texts, 2).results) {
        logits.forEach((row, t) => {
          const from = (prompt - 1 + t) * width;
          expect(largestDifference(row, wanted.subarray(from, from + width))).toBeLessThan(logitTolerance);
        });
        const responseIds = ids.slice(prompt);
        const served = responseIds.map((id, t) => logProbOf(logits[t]!, id, 1));
        const [trained] = scoreResponses(policy, adapter, [{ promptIds: ids.slice(0, prompt), responseIds }]);
        expect(largestDifference(served, trained!)).toBeLessThan(logProbTolerance);
      }
      adapter.dispose();
      policy.dispose();
    });

    test.each(models)('%s: training sees the log-probs recorded during sampling', async (name) => {
      const policy = await openReferenceModel(name, await open());
      const random = createRandom(name);
      const { prompts } = readModelReference(name);
      const decoder = createDecoder(policy, undefined, { maxSequences: 4, maxPositions: 512 });
      const answers = prompts.map(({ ids }, index) => {
        const settings = { temperature: [1, 0.7, 1.3, 0][index]!, topP: [1, 0.9, 1, 1][index]! };
        return {
          ...decoder.admit(ids),
          promptIds: ids,
          settings,
          sampled: [] as { id: number; logProb: number }[],
        };
      });
      for (let t = 0; t < 24; t++) {
        for (const { logits, settings, sampled } of answers)
          sampled.push(sampleToken(logits, settings, random));
        const steps = decoder.step(answers.map(({ slot, sampled }) => ({ slot, id: sampled.at(-1)!.id })));
        for (const [index, logits] of steps.entries()) answers[index] = { ...answers[index]!, logits };
      }
      decoder.dispose();
      const trained = scoreResponses(
        policy,
        undefined,
        answers.map(({ promptIds, settings, sampled }) => ({
          promptIds,
          responseIds: sampled.map(({ id }) => id),
          temperature: settings.temperature || 1,
        })),
      );
      answers.forEach(({ sampled }, index) => {
        const recorded = sampled.map(({ logProb }) => logProb);
        expect(largestDifference(recorded, trained[index]!)).toBeLessThan(logProbTolerance);
      });
      policy.dispose();
    });

    test.each(models)(
      '%s: texts of different lengths, as the reference pads them at the left',
      async (name) => {
        const policy = await openReferenceModel(name, await open());
        const { batch_left: reference } = readModelReference(name);
        const wanted = (await readTensors(name, 'reference.safetensors')).float32(reference.logits);
        const decoder = createDecoder(policy, undefined, { maxSequences: 3, maxPositions: 64 });
        const width = policy.config.vocabularySize;
        const texts = reference.input_ids.map((ids, row) =>
          ids.filter((_, column) => reference.attention_mask[row]![column] === 1),
        );
        // All but the last token by the prompt, then one step for all together.
        const slots = texts.map((ids) => decoder.admit(ids.slice(0, -1)).slot);
        const last = decoder.step(texts.map((ids, row) => ({ slot: slots[row]!, id: ids.at(-1)! })));
        last.forEach((row, index) => {
          const rowWanted = wanted.subarray(index * width, (index + 1) * width);
          expect(largestDifference(row, rowWanted)).toBeLessThan(logitTolerance);
        });
        for (const slot of slots) decoder.release(slot);
        texts.forEach((ids, index) => {
          const rowWanted = wanted.subarray(index * width, (index + 1) * width);
          expect(largestDifference(decoder.admit(ids).logits, rowWanted)).toBeLessThan(logitTolerance);
        });
        decoder.dispose();
        policy.dispose();
      },
    );
  });
});
