import { until } from './clawloop.ts';

type Ask = (messages: { readonly role: 'user'; readonly content: string }[]) => Promise<unknown>;

export type Chatting = {
  readonly answers: () => number;
  /** Resolves when the last answer has come. */
  readonly stop: () => Promise<void>;
};

/** Two people who ask without a pause. Resolves when they have a few answers. */
export async function startChatting(ask: Ask): Promise<Chatting> {
  let isOver = false;
  let answers = 0;
  const person = async () => {
    while (!isOver) {
      await ask([{ role: 'user', content: `What is a good breakfast on day ${answers}?` }]);
      answers += 1;
    }
  };
  const people = Promise.all([person(), person()]);
  people.catch(() => undefined); // awaited in `stop`
  await Promise.race([until('people chat', () => answers > 2), people]);
  return {
    answers: () => answers,
    stop: async () => {
      isOver = true;
      await people;
    },
  };
}
