import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import { describe, expect } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { deltaFrame, finishFrame, sendFrames, type UpstreamDouble } from './serving-upstream-double.ts';

export type Captured = {
  readonly n: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly messages: readonly ChatMessage[]; readonly [field: string]: unknown };
};
type CaptureFile = { readonly name: string; readonly requests: readonly Captured[] };

const folderOfCaptures = new URL('../../../shared/fixtures/openclaw/', import.meta.url);
export const describeCaptured =
  existsSync(folderOfCaptures) || process.env.CLAWLOOP_REQUIRE_ALL === '1' ? describe : describe.skip;
/** What was left out of a capture is not in it as a message. */
const isMessage = (message: ChatMessage) => !String(message.role).startsWith('(');
export const readCaptures = (): readonly CaptureFile[] =>
  readdirSync(folderOfCaptures)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const { requests } = JSON.parse(readFileSync(new URL(name, folderOfCaptures), 'utf8')) as CaptureFile;
      return {
        name,
        requests: requests.map((one) => ({
          ...one,
          body: { ...one.body, messages: one.body.messages.filter(isMessage) },
        })),
      };
    });

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

/** Sends a captured request as it came, and reads its stream to the end. */
export async function replay(
  serving: { readonly url: string },
  { headers, body }: Captured,
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

/** What a captured request was answered with, as the next one of its file shows it. */
export function capturedAnswer(requests: readonly Captured[], index: number): ChatMessage | undefined {
  const position = requests[index]!.body.messages.length - 1; // the client's own last message is never kept
  const answer = requests[index + 1]?.body.messages[position];
  return answer?.role === 'assistant' ? answer : undefined;
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
