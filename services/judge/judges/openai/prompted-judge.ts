import { createHash } from 'node:crypto';
import { defined } from '../../../../shared/lang/defined.ts';
import type { Judge, Opinion } from '../judge.ts';
import { hintPrompt } from './hint-prompt.ts';
import { parseHint } from './parse-hint.ts';
import { parseVerdict } from './parse-verdict.ts';
import { asItIs, type Conceal, type JudgeMessage, judgePrompt } from './prompt.ts';
import { stepPrompt } from './step-prompt.ts';

/** The answer of a model and its cost. */
export type Completion = {
  readonly text: string;
  readonly model: string | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

/** Asks a model. The same seed requests the same answer. Rejects when there is no answer. */
type AskModel = (messages: readonly JudgeMessage[], seed: number, signal: AbortSignal) => Promise<Completion>;

/**
 * A language model as the judge, wherever it runs. Votes vary by temperature and seed. `conceal` is applied to every
 * text of the conversation.
 */
export function promptedJudge(name: string, ask: AskModel, conceal: Conceal = asItIs): Judge {
  return {
    name,
    defaultVotes: 3,
    defaultHintVotes: 1,
    vote: async (turn, index, signal) => {
      const seed = voteSeed(turn.turnId, index);
      const completion = await timed(ask, judgePrompt(turn, index, conceal), seed, signal);
      return { vote: parseVerdict(completion.text), ...completion };
    },
    step: async (turn, index, signal) => {
      const seed = voteSeed(turn.turnId, index);
      const completion = await timed(ask, stepPrompt(turn, index, conceal), seed, signal);
      return { vote: parseVerdict(completion.text), ...completion };
    },
    hint: async (turn, index, signal) => {
      const seed = voteSeed(`${turn.turnId}/hint`, index);
      const completion = await timed(ask, hintPrompt(turn, index, conceal), seed, signal);
      return { ...parseHint(completion.text), ...completion };
    },
  };
}

async function timed(
  ask: AskModel,
  ...question: Parameters<AskModel>
): Promise<Pick<Opinion, 'text' | 'model' | 'cost'>> {
  const start = performance.now();
  const { text, model, promptTokens, completionTokens } = await ask(...question);
  const milliseconds = performance.now() - start;
  const cost = { promptTokens, completionTokens, milliseconds };
  return { text, ...defined({ model }), cost };
}

/** 31 bits, which every server accepts. */
const voteSeed = (turnId: string, index: number): number =>
  createHash('sha256').update(`seed\n${turnId}\n${index}`).digest().readUInt32BE(0) >>> 1;
