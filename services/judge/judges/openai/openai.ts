import type { Judge } from '../judge.ts';
import { type ChatServer, completeChat } from './chat-completion.ts';
import { asItIs, type Conceal } from './prompt.ts';
import { promptedJudge } from './prompted-judge.ts';

/** A model behind any OpenAI-compatible server, for example the base model of the serving service. */
export function openaiJudge(server: ChatServer, conceal: Conceal = asItIs): Judge {
  return promptedJudge(
    'openai',
    async (...question) => {
      const completion = await completeChat(server, ...question);
      return { ...completion, model: completion.model ?? server.model };
    },
    conceal,
  );
}
