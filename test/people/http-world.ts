import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import PQueue from 'p-queue';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { defined } from '../../shared/lang/defined.ts';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { watchLog } from '../e2e/demo/log-watch.ts';
import { clawloop, startClawLoop } from '../e2e/harness/clawloop.ts';
import type { OpenWorld } from './world.ts';

/** requests sent at the same time, so that they are generated as one batch */
const AT_ONCE = 8;
const MAX_TOKENS = 120;

/** A running ClawLoop with its own data folder and the embedded log, used through HTTP as by any client. */
export const httpWorld =
  (flags: readonly string[]): OpenWorld =>
  async ({ learning }, onEvent) => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-people-'));
    const loop = await startClawLoop(folder, flags).catch(async (error: unknown) => {
      await rm(folder, { recursive: true, force: true });
      throw error;
    });
    const watch = await watchLog(folder, performance.now(), onEvent);
    const close = async (): Promise<void> => {
      await watch.close();
      await loop.stop();
      await rm(folder, { recursive: true, force: true });
    };
    if (!learning) {
      const { code, stderr } = await clawloop(['learning', 'pause', '--data-folder', folder]);
      if (code !== 0) {
        await close();
        throw new Error(`learning cannot be paused: ${stderr}`);
      }
    }
    const client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 5 });
    const complete = async (model: string, messages: readonly ChatMessage[], seed?: number) => {
      const { id, choices } = await client.chat.completions.create({
        model,
        max_tokens: MAX_TOKENS,
        ...defined({ seed }),
        messages: [...messages] as OpenAI.ChatCompletionMessageParam[],
      });
      return { id, text: choices[0]?.message.content ?? '' };
    };
    return {
      client: {
        ask: (messages) => complete('clawloop', messages),
        rate: (id, score) => rate(loop.url, id, score),
      },
      settle: watch.settle,
      served: watch.served,
      answers: (questions) => {
        const version = watch.served();
        const model = version === 0 ? 'clawloop@base' : `clawloop@v${version}`;
        const asked = questions.map(
          ({ messages }, index) =>
            async () =>
              (await complete(model, messages, index)).text,
        );
        return new PQueue({ concurrency: AT_ONCE }).addAll(asked);
      },
      klToBase: async () => {
        const kept = await openCheckpointStore(dataFolder(folder).checkpoints('default')).list();
        const served = kept.find(({ state }) => state.version === watch.served());
        return served?.state.metrics.klToBase ?? null;
      },
      close,
    };
  };

async function rate(url: string, id: string, score: 1 | -1): Promise<void> {
  const answer = await fetch(`${url}/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ completion_id: id, rating: score > 0 ? 'up' : 'down' }),
  });
  if (!answer.ok) throw new Error(`the rating of ${id} was refused: ${answer.status} ${await answer.text()}`);
}
