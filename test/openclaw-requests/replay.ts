import { createParser } from 'eventsource-parser';
import { expect } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { deltaFrame, finishFrame, sendFrames, type UpstreamDouble } from '../e2e/serving-upstream-double.ts';
import type { OpenClawRequest } from './requests.ts';

type Chunk = {
  readonly id: string;
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly tool_calls?: readonly { readonly function: object }[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: object | null;
};

/** Sends a request of OpenClaw as it came, and reads its stream to the end. */
export async function replay(
  serving: { readonly url: string },
  { headers, body }: OpenClawRequest,
  more: object = {},
) {
  const { host: _, 'content-length': __, connection: ___, ...rest } = headers;
  const response = await fetch(`${serving.url}/v1/chat/completions`, {
    method: 'POST',
    headers: rest,
    body: JSON.stringify({ ...body, ...more }),
  });
  const text = await response.text();
  expect(response.status, text.slice(0, 300)).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const data: string[] = [];
  createParser({ onEvent: (event) => void data.push(event.data) }).feed(text);
  expect(data.at(-1)).toBe('[DONE]');
  const chunks = data.slice(0, -1).map((one) => JSON.parse(one) as Chunk);
  return {
    id: chunks[0]!.id,
    text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''),
    toolCalls: chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []),
    finishReason: chunks.findLast((chunk) => chunk.choices.length > 0)!.choices[0]!.finish_reason,
    usage: chunks.at(-1)!.usage,
  };
}

/** Lets the next upstream answer say just this. */
export function scriptAnswer(upstream: UpstreamDouble, { content, tool_calls: calls }: ChatMessage): void {
  upstream.script((_, response) =>
    sendFrames(response, [
      deltaFrame(
        calls === undefined ? { content } : { tool_calls: calls.map((call, at) => ({ index: at, ...call })) },
      ),
      finishFrame(calls === undefined ? 'stop' : 'tool_calls'),
    ]),
  );
}
