import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { until } from '../harness/clawloop.ts';
import { deltaFrame, type UpstreamDouble } from '../serving-upstream-double.ts';

/** An answer that sends one word every 50 ms, up to this number; Infinity: without end. */
export function speak(upstream: UpstreamDouble, words: number): void {
  upstream.script(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let said = 0; said < words && !response.destroyed; said += 1) {
      response.write(`data: ${JSON.stringify(deltaFrame({ content: `word${said} ` }))}\n\n`);
      await delay(50);
    }
    response.end(`data: ${JSON.stringify(deltaFrame({}, { finish_reason: 'stop' }))}\n\ndata: [DONE]\n\n`);
  });
}

export type Story = { readonly text: string; readonly reason: string | null };

/** Requests a stream; resolves after the first word; `ended` resolves when the stream ends. */
export async function startStory(url: string): Promise<{ readonly ended: Promise<Story> }> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: 'clawloop',
    messages: [{ role: 'user', content: 'Tell me a story' }],
    stream: true,
  });
  let text = '';
  const ended = (async () => {
    let reason: string | null = null;
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      reason ??= choices[0]?.finish_reason ?? null;
    }
    return { text, reason };
  })();
  ended.catch(() => {}); // the caller that awaits it gets the error
  await until('it speaks', () => text !== '');
  return { ended };
}
