import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';

export type UpstreamCall = {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
};

export type UpstreamDouble = {
  /** with its /v1 */
  readonly url: string;
  readonly calls: readonly UpstreamCall[];
  /** Sets its response to the next requests. */
  readonly script: (answer: (call: UpstreamCall, response: ServerResponse) => void | Promise<void>) => void;
  /** Number of requests that the client aborted. */
  readonly aborted: () => number;
  readonly close: () => Promise<void>;
};

/** An OpenAI-compatible server that a test scripts. */
export async function upstreamDouble(): Promise<UpstreamDouble> {
  const calls: UpstreamCall[] = [];
  let aborted = 0;
  let answer: (call: UpstreamCall, response: ServerResponse) => void | Promise<void> = (_, response) =>
    void response.writeHead(500).end();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    if (request.method === 'GET') return void response.writeHead(404).end(); // health checks
    const call = { headers: request.headers, body: JSON.parse(text) as UpstreamCall['body'] };
    calls.push(call);
    response.on('close', () => {
      if (!response.writableFinished) aborted += 1;
    });
    await answer(call, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    calls,
    script: (next) => {
      answer = next;
    },
    aborted: () => aborted,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Streams frames as OpenAI-compatible servers do. */
export function sendFrames(response: ServerResponse, frames: readonly object[], done = true): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const frame of frames) response.write(`data: ${JSON.stringify(frame)}\n\n`);
  response.end(done ? 'data: [DONE]\n\n' : '');
}

type Delta = Readonly<Record<string, unknown>>;
export const deltaFrame = (delta: Delta, more: Delta = {}, top: Delta = {}) => ({
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
  ...top,
});
export const finishFrame = (reason: string) => deltaFrame({}, { finish_reason: reason });
export const usageFrame = (prompt: number, completion: number) => ({
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
});
