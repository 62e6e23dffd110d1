import type { Judge } from '../judge.ts';
import { promptedJudge } from '../openai/prompted-judge.ts';
import { openModelThread } from './model-thread.ts';
import type { ModelSetup } from './thread-protocol.ts';

/** ms per try of one vote: a model on a processor takes its time, and votes of four turns share it. */
const TIMEOUT_MS = 600_000;

/**
 * A small language model of this process's own as the judge: with the prompts of `openai`, and nothing leaves
 * the machine.
 *
 * @param model as it is named in the facts of its votes
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
