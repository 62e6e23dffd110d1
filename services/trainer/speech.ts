import type { Checkpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../../shared/policy/decode/decoding.ts';
import {
  effectiveTemperature,
  type SamplingSettings,
  sampleToken,
} from '../../shared/policy/decode/sampling.ts';
import type { Adapter, Policy } from '../../shared/policy/model/policy.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { gateRequests, rehearsedPrompts, wideRequests } from '../../shared/policy/text/gate-requests.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';

/** What a model needs besides its weights to answer. Sampling follows the model's generation config. */
export type Speech = {
  readonly sampling: SamplingSettings;
  readonly endIds: ReadonlySet<number>;
  readonly read: (ids: readonly number[]) => string;
  /** requests whose answers the gate compares with those of the base */
  readonly gateRequests: readonly string[];
  /** many requests, each on another topic, whose answers the gate checks for absurd tokens */
  readonly wideRequests: readonly string[];
  /** requests for rehearsal */
  readonly rehearsed: readonly string[];
};

export type SampledAnswer = {
  /** including the end token, if the answer ended */
  readonly ids: readonly number[];
  readonly ended: boolean;
  /** T_eff of the policy that the answer was sampled from */
  readonly temperature: number;
};

export type SampleRequest = {
  readonly prompts: readonly (readonly number[])[];
  /** seed and index determine the random numbers of an answer */
  readonly seed: string;
  /** most tokens of an answer */
  readonly tokens: number;
};

/** @param folder of the model */
export async function loadSpeech(
  folder: string,
  { generationConfig: { temperature = 1, topP = 1, topK = 0, eosTokenIds } }: Checkpoint,
): Promise<Speech> {
  const tokenizer = await loadTokenizer(folder);
  return {
    sampling: { temperature, topP, topK },
    endIds: new Set(eosTokenIds),
    read: (ids) => tokenizer.decode(ids),
    gateRequests: gateRequests(folder),
    wideRequests: wideRequests(folder),
    rehearsed: rehearsedPrompts(folder),
  };
}

/** Answers that are generated concurrently. */
const AT_ONCE = 16;

type Running = { readonly index: number; readonly slot: number; next: number };

/**
 * Samples one answer to each prompt, a few concurrently. The same request gives the same answers on the same
 * runtime.
 */
export function sampleAnswers(
  policy: Policy,
  adapter: Adapter | undefined,
  { sampling, endIds }: Pick<Speech, 'sampling' | 'endIds'>,
  { prompts, seed, tokens }: SampleRequest,
): readonly SampledAnswer[] {
  const decoder = createDecoder(policy, adapter, {
    maxSequences: AT_ONCE,
    maxPositions: policy.config.maxPositions,
  });
  const answers = prompts.map(() => [] as number[]);
  const randoms = prompts.map((_, index) => createRandom(`${seed}/${index}`));
  const most = (index: number) => Math.min(tokens, policy.config.maxPositions - prompts[index]!.length);
  const take = (index: number, logits: Float32Array): number | undefined => {
    const { id } = sampleToken(logits, sampling, randoms[index]!);
    answers[index]!.push(id);
    return endIds.has(id) || answers[index]!.length >= most(index) ? undefined : id;
  };
  try {
    for (let start = 0; start < prompts.length; start += AT_ONCE) {
      let running: readonly Running[] = prompts.slice(start, start + AT_ONCE).flatMap((prompt, at) => {
        const { slot, logits } = decoder.admit(prompt);
        const next = take(start + at, logits);
        if (next !== undefined) return [{ index: start + at, slot, next }];
        decoder.release(slot);
        return [];
      });
      while (running.length > 0) {
        const logits = decoder.step(running.map(({ slot, next: id }) => ({ slot, id })));
        running = running.filter((answer, row) => {
          const next = take(answer.index, logits[row]!);
          if (next === undefined) decoder.release(answer.slot);
          else answer.next = next;
          return next !== undefined;
        });
      }
    }
  } finally {
    decoder.dispose();
  }
  const temperature = effectiveTemperature(sampling.temperature);
  return answers.map((ids) => ({ ids, ended: endIds.has(ids.at(-1)!), temperature }));
}
