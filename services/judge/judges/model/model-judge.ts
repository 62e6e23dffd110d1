import type { Judge } from '../judge.ts';
import { promptedJudge } from '../openai/prompted-judge.ts';
import { openModelThread } from './model-thread.ts';
import type { ModelSetup } from './thread-protocol.ts';

/** Default time limit of one attempt at a vote: a model on a CPU is slow, and four votes share it. ms */
const TIMEOUT_MS = 600_000;

/**
 * A language model in this process as the judge. Uses the prompts of `openai`; nothing leaves the machine.
 *
 * @param model its name in the events of its votes
 */
export function openModelJudge(model: string, setup: () => Promise<ModelSetup>): Judge {
  const thread = openModelThread(model, setup);
  return {
    ...promptedJudge('model', async (...question) => ({ ...(await thread.ask(...question)), model })),
    defaultTimeoutMs: TIMEOUT_MS,
    open: async () => `${model}: ${await thread.open()}`,
    close: thread.close,
  };
}
