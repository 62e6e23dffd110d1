import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Api, apiOf, askedIn, type Body } from './asked.ts';
import { type Reply, replyTo } from './script.ts';
import { writeChat } from './write-chat.ts';
import { writeMessages } from './write-messages.ts';
import { writeResponses } from './write-responses.ts';
import { answerStream, type Written } from './written.ts';

/** An answered request; the list is in order of arrival. */
export type Served = {
  readonly n: number;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Body;
  readonly reply: Reply;
  /** number of words of the answer that were sent so far */
  readonly words: () => number;
  /** the client closed the answer before its end */
  readonly isAborted: () => boolean;
};

export type ScriptedUpstream = {
  /** without /v1 */
  readonly url: string;
  readonly served: readonly Served[];
  /** Other requests: health checks and model lists. */
  readonly probes: readonly string[];
  readonly close: () => Promise<void>;
};

const writers: Readonly<Record<Api, (written: Written) => Promise<void>>> = {
  chat: writeChat,
  messages: writeMessages,
  responses: writeResponses,
};

/**
 * A scripted model with all three APIs. It has its own answer to every step of the conversation, calls the program's
 * shell if a step needs it, and writes titles and summaries on request.
 */
export async function scriptedUpstream(): Promise<ScriptedUpstream> {
  const served: Served[] = [];
  const probes: string[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch((error: Error) => response.destroy(error));
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = '';
    for await (const part of request) text += part;
    const { pathname } = new URL(request.url!, 'http://upstream');
    const api = request.method === 'POST' ? apiOf(pathname) : undefined;
    if (api === undefined) {
      probes.push(`${request.method} ${pathname}`);
      answerProbe(pathname, response);
      return;
    }
    const body = JSON.parse(text) as Body;
    const asked = askedIn(api, body);
    const reply = replyTo(
      asked,
      served.some((one) => one.reply.step === 'stopped'),
    );
    const n = served.length + 1;
    const isAborted = () => response.destroyed && !response.writableFinished;
    const stream = answerStream(response, reply);
    served.push({
      n,
      path: request.url!,
      headers: request.headers,
      body,
      reply,
      words: stream.count,
      isAborted,
    });
    const promptTokens = Math.ceil(text.length / 4);
    await writers[api]({ asked, reply, n, promptTokens, stream });
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    served,
    probes,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answerProbe(path: string, response: ServerResponse): void {
  const models = [{ id: 'clawloop', object: 'model', created: 0, owned_by: 'clawloop' }];
  const body = path.endsWith('/models')
    ? { object: 'list', data: models }
    : path.endsWith('/count_tokens')
      ? { input_tokens: 1_000 }
      : undefined;
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? {}));
}
