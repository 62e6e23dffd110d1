import { createHash } from 'node:crypto';
import type { Judge, Opinion } from '../judge.ts';
import { type ChatServer, completeChat } from './chat-completion.ts';
import { hintPrompt } from './hint-prompt.ts';
import { parseHint } from './parse-hint.ts';
import { parseVerdict } from './parse-verdict.ts';
import { asItIs, type Conceal, type JudgeMessage, judgePrompt } from './prompt.ts';

/**
 * A process reward model behind any OpenAI-compatible server, our own base model among them. Votes vary by
 * temperature and seed. What it reads of a conversation has gone through `conceal`.
 */
export function openaiJudge(server: ChatServer, conceal: Conceal = asItIs): Judge {
  return {
    name: 'openai',
    defaultVotes: 3,
    defaultHintVotes: 1,
    vote: async (turn, index, signal) => {
      const seed = voteSeed(turn.turnId, index);
      const said = await ask(server, judgePrompt(turn, index, conceal), seed, signal);
      return { vote: parseVerdict(said.text), ...said };
    },
    hint: async (turn, index, signal) => {
      const seed = voteSeed(`${turn.turnId}/hint`, index);
      const said = await ask(server, hintPrompt(turn, index, conceal), seed, signal);
      return { ...parseHint(said.text), ...said };
    },
  };
}

async function ask(
  server: ChatServer,
  messages: readonly JudgeMessage[],
  seed: number,
  signal: AbortSignal,
): Promise<Pick<Opinion, 'text' | 'model' | 'cost'>> {
  const start = performance.now();
  const { text, model, promptTokens, completionTokens } = await completeChat(server, messages, seed, signal);
  const milliseconds = performance.now() - start;
  return { text, model: model ?? server.model, cost: { promptTokens, completionTokens, milliseconds } };
}

/** 31 bits, so that every server takes it. */
const voteSeed = (turnId: string, index: number): number =>
  createHash('sha256').update(`seed\n${turnId}\n${index}`).digest().readUInt32BE(0) >>> 1;
