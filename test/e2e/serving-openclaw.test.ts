import { readdirSync, readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import {
  describeWith,
  type ServingFolder,
  type ServingProcess,
  servingFolder,
  sharedFixtures,
} from './serving-process.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  type UpstreamDouble,
  upstreamDouble,
} from './serving-upstream-double.ts';

type Captured = {
  readonly n: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly messages: readonly ChatMessage[]; readonly [field: string]: unknown };
};
type File = { readonly name: string; readonly requests: readonly Captured[] };

const folderOfCaptures = new URL('openclaw/', sharedFixtures);
/** What was left out of a capture is not in it as a message. */
const isMessage = (message: ChatMessage) => !String(message.role).startsWith('(');
const readCaptures = (): readonly File[] =>
  readdirSync(folderOfCaptures)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const { requests } = JSON.parse(readFileSync(new URL(name, folderOfCaptures), 'utf8')) as File;
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
async function replay(serving: ServingProcess, { headers, body }: Captured, more: object = {}) {
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

describeWith('openclaw')('requests captured from OpenClaw', () => {
  let folder: ServingFolder;
  afterAll(() => folder.dispose());
  beforeAll(async () => {
    folder = await servingFolder();
  });

  test('are answered and streamed by a policy with a small context', async () => {
    const serving = await folder.start();
    for (const { name, requests } of readCaptures()) {
      for (const request of requests) {
        const asked = request.body.max_completion_tokens as number;
        const answer = await replay(serving, request, { max_completion_tokens: Math.min(asked, 8) });
        expect(answer.finishReason, `${name} ${request.n}`).toMatch(/^(stop|length|tool_calls)$/);
        expect(answer.usage).toMatchObject({ prompt_tokens: expect.any(Number) });
      }
    }
    expect(await folder.events('dead-letters')).toEqual([]);
    await serving.stop();
  });

  test('get from an upstream engine what the next captured request shows, and are recorded as they came', async () => {
    const upstream: UpstreamDouble = await upstreamDouble();
    const serving = await folder.start(['--engine', 'upstream', '--upstream-url', upstream.url]);
    let replayed = 0;
    for (const { requests } of readCaptures()) {
      for (const [index, request] of requests.entries()) {
        const position = request.body.messages.length - 1; // the client's own last message is never kept
        const answer = requests[index + 1]?.body.messages[position];
        if (answer?.role !== 'assistant') continue;
        const { content, tool_calls: calls } = answer;
        upstream.script((_, response) =>
          sendFrames(response, [
            deltaFrame(
              calls === undefined
                ? { content }
                : { tool_calls: calls.map((call, at) => ({ index: at, ...call })) },
            ),
            finishFrame(calls === undefined ? 'stop' : 'tool_calls'),
          ]),
        );
        const heard = await replay(serving, request);
        expect(heard.text).toBe(content ?? '');
        expect(heard.toolCalls.map((call) => call.function)).toEqual(
          (calls ?? []).map((call) => call.function),
        );
        expect(heard.finishReason).toBe(calls === undefined ? 'stop' : 'tool_calls');
        expect(upstream.calls.at(-1)!.body.messages).toEqual(request.body.messages);
        const fact = (await folder.events('conversations')).find(({ id }) => id === heard.id);
        expect(fact!.data).toMatchObject({
          messages: request.body.messages,
          tools: request.body.tools,
          live: true,
        });
        expect(fact!.traceparent).toBe(request.headers.traceparent);
        replayed += 1;
      }
    }
    expect(replayed).toBeGreaterThanOrEqual(5);
    await upstream.close();
  });
});
