import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export type Asked = {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly temperature: number;
    readonly max_tokens: number;
    readonly seed: number;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  };
};
export type Answer = (response: ServerResponse, asked: Asked) => void | Promise<void>;

/** A chat completion with this text. */
export const says =
  (content: string): Answer =>
  (response) =>
    void response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        model: 'judge-1',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      }),
    );
export const answersStatus =
  (status: number): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');

/** A real HTTP server instead of a judge model. It gives `answers` in order, then repeats the last one. */
export async function startJudgeServer(...answers: readonly [Answer, ...Answer[]]) {
  const asked: Asked[] = [];
  const script = [...answers];
  const server = createServer(async (request, response) => {
    const one = {
      path: request.url ?? '',
      authorization: request.headers.authorization,
      body: await readJson(request),
    };
    asked.push(one);
    await (script.length > 1 ? script.shift()! : script[0]!)(response, one);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    asked,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readJson(request: IncomingMessage): Promise<Asked['body']> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text) as Asked['body'];
}
