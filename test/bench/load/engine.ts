import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

// A separate process for the load bench: an engine with OpenAI's chat API and one fixed answer, as JSON or streamed at
// the configured pace. Prints its port.

/** The form of the following answers. Without pauses, a whole answer is sent in one write. */
export type Pace = { readonly tokens: number; readonly firstTokenMs: number; readonly tokenMs: number };

let pace: Pace = { tokens: 16, firstTokenMs: 0, tokenMs: 0 };
process.on('message', (next: Pace) => {
  pace = next;
  process.send!('paced');
});

const head = { id: 'chatcmpl-0123456789abcdef', created: 1_760_000_000, model: 'engine' };
const frame = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }] })}\n\n`;
/** A token contains the time of its sending, ms of the clock that all processes of the machine share. */
const stampedFrame = (): string => frame({ content: ` @${Number(process.hrtime.bigint()) / 1e6}@` });
const plainFrame = frame({ content: ' another' });
const beginFrame = frame({ role: 'assistant', content: '' });
const endFrames = `${frame({}, { finish_reason: 'stop' })}${`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage: usage() })}\n\n`}data: [DONE]\n\n`;

function usage() {
  return { prompt_tokens: 100, completion_tokens: pace.tokens, total_tokens: 100 + pace.tokens };
}

async function stream(response: ServerResponse): Promise<void> {
  const { tokens, firstTokenMs, tokenMs } = pace;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (firstTokenMs + tokenMs === 0) {
    response.end(beginFrame + stampedFrame() + plainFrame.repeat(tokens - 1) + endFrames);
    return;
  }
  await delay(firstTokenMs);
  response.write(beginFrame + stampedFrame());
  for (let token = 1; token < tokens; token++) {
    await delay(tokenMs);
    response.write(plainFrame);
  }
  response.end(endFrames);
}

async function whole(response: ServerResponse): Promise<void> {
  const { tokens, firstTokenMs, tokenMs } = pace;
  if (firstTokenMs + tokenMs > 0) await delay(firstTokenMs + tokenMs * (tokens - 1));
  const message = { role: 'assistant', content: ' another'.repeat(tokens) };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
  const text = JSON.stringify({ ...head, object: 'chat.completion', choices, usage: usage() });
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}

const server = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const asksForStream = Buffer.concat(parts).includes('"stream":true');
  await (asksForStream ? stream : whole)(response);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
console.log(typeof address === 'object' && address !== null ? address.port : 0);
process.on('disconnect', () => process.exit(0));
