import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createMetrics } from '../../../shared/runtime/metrics.ts';
import { parseChatRequest } from '../api/request/parse-chat-request.ts';
import { ServingError } from '../errors.ts';
import type { Engine } from '../generation.ts';
import { createServingMetrics } from '../metrics.ts';
import { answerChat } from './answer.ts';

const envelope = {
  session: undefined,
  turnType: undefined,
  sessionDone: false,
  traceparent: undefined,
  requestId: undefined,
};
const accepted = {
  id: 'chatcmpl-1',
  cacheSalt: undefined,
  created: 7,
  api: 'chat' as const,
  requestId: 'req_1',
  lane: 'lane',
  keyId: 'local',
  adapter: 'default',
  envelope,
  chat: parseChatRequest({ model: 'clawloop', messages: [{ role: 'user', content: 'hi' }] }),
  target: { kind: 'live', adapter: 'default' } as const,
};

async function answerBy(generate: Engine['generate'], signal: AbortSignal) {
  const facts: ClawLoopEvent[] = [];
  const deps = {
    engine: { name: 'local' as const, generate },
    recorder: { record: async (event: ClawLoopEvent) => facts.push(event) > 0 },
    metrics: createServingMetrics(createMetrics('test')),
    maxRecordBytes: 1e6,
  };
  const listener = { onStart: () => {}, onChunk: () => {} };
  const error = await answerChat(deps, accepted, listener, signal).catch((thrown: Error) => thrown);
  return { error, facts };
}

test('a client that leaves before the first token is recorded', async () => {
  const stop = new AbortController();
  const { error, facts } = await answerBy(async () => {
    stop.abort(new Error('the client disconnected'));
    throw stop.signal.reason;
  }, stop.signal);
  expect(facts).toMatchObject([{ type: 'interaction.failed', data: { interactionId: 'chatcmpl-1' } }]);
  expect(error).toMatchObject({ status: 499 }); // below 500: no fault of the server's
  expect(facts[0]!.data).toMatchObject({
    code: 'client-disconnected',
    message: expect.stringContaining('client left'),
  });
});

test('server failures are recorded, refusals are not', async () => {
  const { signal } = new AbortController();
  const broken = await answerBy(() => Promise.reject(new Error('out of memory')), signal);
  expect(broken.error).toMatchObject({ status: 500, code: 'engine_failed' });
  expect(broken.facts).toMatchObject([{ type: 'interaction.failed', data: { code: 'engine_failed' } }]);
  const tooLong = ServingError.CONTEXT_LENGTH_EXCEEDED({ limit: 1, tokens: 2 });
  const refused = await answerBy(() => Promise.reject(tooLong), signal);
  expect(refused).toEqual({ error: tooLong, facts: [] });
});
