import { createHash } from 'node:crypto';
import type { Judge, Opinion } from '../judge.ts';
import { hintPrompt } from './hint-prompt.ts';
import { parseHint } from './parse-hint.ts';
import { parseVerdict } from './parse-verdict.ts';
import { asItIs, type Conceal, type JudgeMessage, judgePrompt } from './prompt.ts';

/** What a model said to a prompt, and what it cost. */
export type Completion = {
  readonly text: string;
  readonly model: string | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

/** Asks a model. The same seed asks for the same words. Rejects where there is no answer. */
export type AskModel = (
  messages: readonly JudgeMessage[],
  seed: number,
  signal: AbortSignal,
) => Promise<Completion>;

/**
 * A judge that is a language model, wherever that runs. Votes vary by temperature and seed. What it reads of a
 * conversation has gone through `conceal`.
 */
export function promptedJudge(name: string, ask: AskModel, conceal: Conceal = asItIs): Judge {
  return {
    name,
    defaultVotes: 3,
    defaultHintVotes: 1,
    vote: async (turn, index, signal) => {
      const seed = voteSeed(turn.turnId, index);
      const said = await timed(ask, judgePrompt(turn, index, conceal), seed, signal);
      return { vote: parseVerdict(said.text), ...said };
    },
    hint: async (turn, index, signal) => {
      const seed = voteSeed(`${turn.turnId}/hint`, index);
      const said = await timed(ask, hintPrompt(turn, index, conceal), seed, signal);
      return { ...parseHint(said.text), ...said };
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
  return { text, ...(model === undefined ? {} : { model }), cost };
}

/** 31 bits, so that every server takes it. */
const voteSeed = (turnId: string, index: number): number =>
  createHash('sha256').update(`seed\n${turnId}\n${index}`).digest().readUInt32BE(0) >>> 1;
