import { createHash } from 'node:crypto';
import type { Judge } from '../judge.ts';
import { type ChatServer, completeChat } from './chat-completion.ts';
import { parseVerdict } from './parse-verdict.ts';
import { judgePrompt } from './prompt.ts';

/**
 * A process reward model behind any OpenAI-compatible server, our own base model among them. Votes vary by
 * temperature and seed.
 */
export function openaiJudge(server: ChatServer): Judge {
  return {
    name: 'openai',
    defaultVotes: 3,
    vote: async (turn, index, signal) => {
      const start = performance.now();
      const seed = voteSeed(turn.turnId, index);
      const { text, model, promptTokens, completionTokens } = await completeChat(
        server,
        judgePrompt(turn, index),
        seed,
        signal,
      );
      return {
        ...parseVerdict(text),
        text,
        model: model ?? server.model,
        cost: { promptTokens, completionTokens, milliseconds: performance.now() - start },
      };
    },
  };
}

/** 31 bits, so that every server takes it. */
const voteSeed = (turnId: string, index: number): number =>
  createHash('sha256').update(`seed\n${turnId}\n${index}`).digest().readUInt32BE(0) >>> 1;
