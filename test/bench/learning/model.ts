import { parseChatRequest } from '../../../services/serving/api/request/parse-chat-request.ts';
import { beginSequence, type Sequence } from '../../../services/serving/engine/local/sequence.ts';
import { makePrompt } from '../../../services/serving/engine/prompt.ts';
import type { Generated } from '../../../services/serving/generation.ts';
import { runtimeFingerprint } from '../../../services/trainer/fingerprint.ts';
import { localEngine } from '../../../services/trainer/local-engine.ts';
import { loadSpeech } from '../../../services/trainer/speech.ts';
import type { PromptLimits } from '../../../shared/chat/prompt-limits.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import type { TrainedWeights } from '../../../shared/policy/checkpoints/full-weights.ts';
import { createDecoder } from '../../../shared/policy/decode/decoding.ts';
import {
  type BackendChoice,
  openBackend,
  prepareNativeEnvironment,
} from '../../../shared/policy/executors/backend.ts';
import { CLAW_NANO, modelFolder } from '../../../shared/policy/model/model-folder.ts';
import { loadPolicy } from '../../../shared/policy/model/policy.ts';
import { loadChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import { loadPromptWriter } from '../../../shared/policy/text/load-prompt-writer.ts';
import { loadTokenizer } from '../../../shared/policy/text/tokenizer.ts';

/** Answers generated side by side. */
const AT_ONCE = 16;
/** Tokens of an answer, as in the requests of the demo. */
const MAX_TOKENS = 120;

export type Question = {
  readonly messages: readonly ChatMessage[];
  readonly seed: string;
  /** undefined: as many as fit the context */
  readonly limits?: PromptLimits | undefined;
};
export type Reply = { readonly text: string; readonly generated: Generated };

/** A version that answers. Free it when the next one does. */
export type Speaker = {
  readonly ask: (questions: readonly Question[]) => readonly Reply[];
  readonly dispose: () => void;
};

export type LearningModel = Awaited<ReturnType<typeof openLearningModel>>;

/** claw-nano, loaded once for serving and training: sampled as in serving, trained by the trainer's own engine. */
export async function openLearningModel(backend: BackendChoice = 'auto') {
  prepareNativeEnvironment({ threads: 1 });
  const folder = modelFolder(CLAW_NANO);
  const executor = await openBackend(backend, { threads: 1 });
  const source = await openCheckpoint(folder);
  const policy = await loadPolicy(source, executor);
  const writePrompt = await loadPromptWriter(folder);
  const tokenizer = await loadTokenizer(folder);
  const template = await loadChatTemplate(folder);
  const { temperature = 1, topP = 1, topK = 0, eosTokenIds } = source.generationConfig;
  const sampler = { tokenizer, endTokenIds: new Set(eosTokenIds), defaults: { temperature, topP, topK } };
  const maker = {
    tokenizer,
    template,
    contextTokens: source.config.maxPositions,
    context: 'window',
  } as const;
  const begin = ({ messages, seed, limits }: Question): Begun => {
    const { generation } = parseChatRequest({ model: 'clawloop', messages, max_tokens: MAX_TOKENS });
    const request = { ...generation, target: { kind: 'live', adapter: 'default' } } as const;
    const prompt = makePrompt({ ...maker, limits }, request);
    return {
      promptIds: prompt.promptIds,
      sequence: beginSequence(sampler, { ...request, prompt, callsTools: false }, seed),
    };
  };

  return {
    engine: localEngine(
      policy,
      writePrompt,
      async (model) => {
        throw new Error(`the bench has no teacher ${model}`);
      },
      await loadSpeech(folder, source),
    ),
    fingerprint: runtimeFingerprint(executor),
    report: executor.report,
    speaker: (version: number, adapter: TrainedWeights | undefined): Speaker => {
      const loaded = adapter && policy.loadAdapter(adapter);
      const decoder = createDecoder(policy, loaded, {
        maxSequences: AT_ONCE,
        maxPositions: maker.contextTokens,
      });
      return {
        ask: (questions) => answerAll(decoder, questions.map(begin), version),
        dispose: () => {
          decoder.dispose();
          loaded?.dispose();
        },
      };
    },
    dispose: () => policy.dispose(),
  };
}

type Decoder = Pick<ReturnType<typeof createDecoder>, 'admit' | 'step' | 'release'>;
type Begun = { readonly promptIds: readonly number[]; readonly sequence: Sequence };
type Running = { readonly index: number; readonly slot: number; next: number };

/** A few at a time: when one ends, the next begins in its place. */
function answerAll(decoder: Decoder, sequences: readonly Begun[], version: number): readonly Reply[] {
  const texts = sequences.map(() => '');
  const running: Running[] = [];
  let begun = 0;
  const take = (index: number, logits: Float32Array): number | undefined => {
    const { next, chunk } = sequences[index]!.sequence.take(logits);
    texts[index] += chunk?.text ?? '';
    return next;
  };
  for (;;) {
    while (running.length < AT_ONCE && begun < sequences.length) {
      const index = begun++;
      const { slot, logits } = decoder.admit(sequences[index]!.promptIds);
      const next = take(index, logits);
      if (next === undefined) decoder.release(slot);
      else running.push({ index, slot, next });
    }
    if (running.length === 0) break;
    const logits = decoder.step(running.map(({ slot, next: id }) => ({ slot, id })));
    for (const [row, answer] of [...running].entries()) {
      const next = take(answer.index, logits[row]!);
      if (next !== undefined) answer.next = next;
      else {
        decoder.release(answer.slot);
        running.splice(running.indexOf(answer), 1);
      }
    }
  }
  return sequences.map(({ sequence }, index) => ({
    text: texts[index]!,
    generated: sequence.result(version),
  }));
}
