import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the model received. */
export type ModelRequest = {
  readonly messages: readonly { readonly role: string; readonly content?: string | null }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly temperature?: number;
  readonly seed?: number;
};

/** A text, calls of tools with their arguments as text, or a refusal with a status and a code. */
export type ScriptedAnswer =
  | string
  | { readonly calls: readonly (readonly [name: string, argumentsText: string])[] }
  | { readonly status: number; readonly code: string };

/** An OpenAI endpoint that gives these answers in order, then an empty one. */
export async function scriptedModel(answers: readonly ScriptedAnswer[]) {
  const requests: ModelRequest[] = [];
  const script = answers.values();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    requests.push(JSON.parse(body) as ModelRequest);
    const answer = script.next().value ?? '';
    const send = (status: number, value: object) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
        .end(JSON.stringify(value));
    if (typeof answer !== 'string' && 'status' in answer)
      return send(answer.status, { error: { message: answer.code, code: answer.code } });
    const calls = typeof answer === 'string' ? [] : answer.calls;
    const message = {
      role: 'assistant',
      content: typeof answer === 'string' ? answer : null,
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(([name, argumentsText], index) => ({
              id: `call_${index}`, // some engines number the calls of each answer from 0 again
              type: 'function',
              function: { name, arguments: argumentsText },
            })),
          }),
    };
    return send(200, { choices: [{ message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => new Promise((closed) => server.close(closed)),
  };
}
