import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { tokensOf } from '../upstream-fakes/fake-tokens.ts';
import { type VllmFake, type VllmFault, vllmFake } from '../upstream-fakes/vllm.ts';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';

// Faults of vLLM, their errors for clients, and their effects on training. No adapters are loaded, so this runs without
// the fixtures.

let folder: ServingFolder;
let serving: ServingProcess;
let vllm: VllmFake;
beforeAll(async () => {
  vllm = await vllmFake({ apiKey: 'secret' });
  folder = await servingFolder();
  serving = await folder.start([
    '--engine',
    'upstream',
    '--upstream-kind',
    'vllm',
    '--upstream-url',
    vllm.url,
    '--upstream-api-key',
    'secret',
    '--upstream-timeout-ms',
    '2000',
    '--upstream-sampling',
    'plain',
    '--model',
    'claw-nano',
    '--upstream-health-ms',
    '200',
  ]);
});
beforeEach(() => vllm.fault(undefined));
afterAll(async () => {
  await folder.dispose();
  await vllm.stop();
});

const messages = [{ role: 'user', content: 'hi' } as const];
const ask = (more: object = {}) =>
  serving.client.chat.completions.create({ model: 'clawloop', messages, ...more });
const factOf = async (id: string) => {
  const found = (await folder.events('conversations')).find((event) => event.id === id);
  return (found as InteractionCompleted).data;
};

test('every setting is sent, so that no default of the server applies unrecorded', async () => {
  const answer = await ask();
  expect(vllm.calls.at(-1)!.body).toMatchObject({
    model: 'base-model',
    temperature: 1,
    top_p: 1,
    top_k: -1,
    min_p: 0,
    repetition_penalty: 1,
    logprobs: true,
    return_token_ids: true,
  });
  const { tokens, untrainable, sampling, usage } = await factOf(answer.id);
  expect(untrainable).toBeUndefined();
  expect(sampling).toMatchObject({ temperature: 1, topP: 1, topK: 0 });
  expect(usage.promptTokens).toBe(tokens!.promptIds.length);
  await ask({ temperature: 0.05 });
  expect(vllm.calls.at(-1)!.body).toMatchObject({ temperature: 0 });
});

test.each<readonly [VllmFault, string]>([
  [{ kind: 'no-token-ids' }, 'no-token-ids'],
  [{ kind: 'lost-token' }, 'token-count-mismatch'],
  [{ kind: 'log-prob', value: 0.2 }, 'impossible-log-probs'],
  [{ kind: 'log-prob', value: null }, 'impossible-log-probs'],
  [{ kind: 'log-prob', value: -9999 }, 'impossible-log-probs'],
  [{ kind: 'other-model' }, 'mixed-versions'],
])('$kind: the answer is sent, and does not train as $1', async (fault, reason) => {
  vllm.fault(fault);
  const answer = await ask();
  expect(answer.choices[0]!.message.content).toBe('I am base-model.');
  const { untrainable, tokens } = await factOf(answer.id);
  expect(untrainable).toBe(reason);
  if (reason !== 'mixed-versions') expect(tokens).toBeNull();
});

test('answers whose log-probs do not describe their sampling do not train', async () => {
  const reasonOf = async (more: object) => (await factOf((await ask(more)).id)).untrainable;
  expect(await reasonOf({ temperature: 0.7 })).toBe('logprob-temperature');
  expect(await reasonOf({ frequency_penalty: 1 })).toBe('penalties');
  const tools = [{ type: 'function', function: { name: 'exec', parameters: {} } }];
  expect(await reasonOf({ tools, tool_choice: 'required' })).toBe('constrained');
  expect(await reasonOf({ top_p: 0.5 })).toBeUndefined(); // raw log-probs know no filters
});

test.each([
  [400, 'top_p must be in (0, 1].', {}, { status: 400, code: 'upstream_refused' }],
  [
    400,
    "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
    {},
    { status: 400, code: 'context_length_exceeded', message: /4096 tokens.* 5000 tokens/ },
  ],
  [429, 'too many', { 'retry-after': '7' }, { status: 429, code: 'upstream_rate_limited', after: '7' }],
  [503, 'overloaded', { 'retry-after': '3' }, { status: 503, code: 'upstream_unavailable', after: '3' }],
  [503, 'overloaded', {}, { status: 503, code: 'upstream_unavailable', after: '1' }],
  [500, 'CUDA error', {}, { status: 502, code: 'upstream_failed' }],
  [401, 'Unauthorized', {}, { status: 502, code: 'upstream_failed' }],
] as const)('%i %s', async (status, message, headers, expected) => {
  vllm.fault({ kind: 'status', status, message, headers });
  const before = vllm.calls.length;
  const failure = await ask().catch((error) => error);
  expect(failure).toMatchObject({ status: expected.status, code: expected.code });
  if ('message' in expected) expect(failure.message).toMatch(expected.message);
  if ('after' in expected) expect(failure.headers.get('retry-after')).toBe(expected.after);
  expect(vllm.calls.length).toBe(before + 1); // it gets one request
});

test.each(['reset', 'cut', 'silent', 'stalled', 'error-frame'] as const)(
  '%s: the client gets the error, and nothing is sent twice',
  async (kind) => {
    vllm.fault({ kind });
    const before = vllm.calls.length;
    await expect(ask()).rejects.toMatchObject({ status: 502, code: 'upstream_failed' });
    expect(vllm.calls.length).toBe(before + 1);
    vllm.fault(undefined);
    expect((await ask()).choices[0]!.message.content).toBe('I am base-model.');
  },
);

test.each([
  ['endless', { status: 502, code: 'upstream_failed', message: /has more than 33554432 characters/ }],
  ['endless-refusal', { status: 400, code: 'upstream_refused' }],
] as const)('%s: it is not read to its end, and its connection is closed', async (kind, expected) => {
  vllm.fault({ kind });
  const [gone, recorded] = [vllm.abandoned(), (await folder.events('conversations')).length];
  const failure = await ask().catch((error) => error);
  expect(failure).toMatchObject({ status: expected.status, code: expected.code });
  if ('message' in expected) expect(failure.message).toMatch(expected.message);
  await until('its connection is closed', () => vllm.abandoned() > gone);
  const facts = (await folder.events('conversations')).slice(recorded);
  expect(facts.map(({ type }) => type)).toEqual(kind === 'endless' ? ['interaction.failed'] : []);
});

test('an answer with an unknown finish reason counts as complete, and its event has that reason', async () => {
  vllm.fault({ kind: 'finish', reason: 'repetition' });
  const answer = await ask();
  expect(answer.choices[0]!.finish_reason).toBe('stop');
  expect(await factOf(answer.id)).toMatchObject({
    finishReason: 'stop',
    engineFinishReason: 'repetition',
    untrainable: 'unknown-finish-reason',
  });
  vllm.fault({ kind: 'finish', reason: 'content_filter' });
  const filtered = await ask();
  expect(filtered.choices[0]!.finish_reason).toBe('content_filter');
  const fact = await factOf(filtered.id);
  expect([fact.finishReason, fact.engineFinishReason]).toEqual(['content_filter', undefined]);
});

test('connections are reused', async () => {
  await ask();
  const before = vllm.connections();
  for (let turn = 0; turn < 12; turn++) await ask();
  // a request may start before the previous answer has ended, or at the same time as a health check
  expect(vllm.connections()).toBeLessThan(before + 6);
});

test('tokens are counted by the server, with its own template', async () => {
  const count = () =>
    fetch(`${serving.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'clawloop', messages }),
    });
  expect(await (await count()).json()).toEqual({
    input_tokens: tokensOf(JSON.stringify(messages)).length,
  });
});

test('a stream of Anthropic’s begins with the tokens of the prompt', async () => {
  const response = await fetch(`${serving.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'clawloop', messages, max_tokens: 50, stream: true }),
  });
  const [first] = (await response.text()).split('\n\n');
  const { message } = JSON.parse(first!.slice(first!.indexOf('{')));
  expect(message.usage.input_tokens).toBe(tokensOf(JSON.stringify(messages)).length);
});

test('a request to a briefly unreachable server is retried, since nothing was sent', async () => {
  await ask(); // the next request starts immediately
  const afterAway = async () => {
    await vllm.stop();
    const asked = ask().catch(() => undefined);
    await delay(300);
    await vllm.restart();
    return (await asked)?.choices[0]?.message.content;
  };
  // retries last half a second, in which a busy machine may not have started the server
  const said = (await afterAway()) ?? (await afterAway()) ?? (await afterAway());
  expect(said).toBe('I am base-model.');
});

test('if the server stays away, the client gets an error and serving is not ready until it is back', async () => {
  await vllm.stop();
  await expect(ask()).rejects.toMatchObject({ status: 502, code: 'upstream_failed' });
  await until('it is not ready', async () => (await fetch(`${serving.url}/readyz`)).status === 503);
  expect(await serving.metric('clawloop_upstream_up')).toBe(0);
  await vllm.restart();
  await until('it is ready', async () => (await fetch(`${serving.url}/readyz`)).ok);
  expect(await serving.metric('clawloop_upstream_up')).toBe(1);
});
