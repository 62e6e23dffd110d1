import type { Judge } from '../judge.ts';
import { type ChatServer, completeChat } from './chat-completion.ts';
import { asItIs, type Conceal } from './prompt.ts';
import { promptedJudge } from './prompted-judge.ts';

/** A model behind any OpenAI-compatible server, our own base model among them. */
export function openaiJudge(server: ChatServer, conceal: Conceal = asItIs): Judge {
  return promptedJudge(
    'openai',
    async (...question) => {
      const said = await completeChat(server, ...question);
      return { ...said, model: said.model ?? server.model };
    },
    conceal,
  );
}
