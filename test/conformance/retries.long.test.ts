import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { until } from '../e2e/harness/clawloop.ts';
import { givesTokens, servingOnScript } from '../e2e/serving-on-script.ts';
import { type Brain, failingFirst, think } from './scripted-model.ts';

// The automatic retries of the official clients: they wait for the time in Retry-After and send the request again.

const on = servingOnScript([...givesTokens, '--max-concurrent-per-key', '1']);

type Asked = { readonly maxRetries: number; readonly signal?: AbortSignal };
type Api = readonly [
  name: string,
  ask: (words: string, how: Asked, more?: object) => Promise<{ readonly id: string; readonly text: string }>,
  errors: { readonly limited: unknown; readonly unavailable: unknown; readonly aborted: unknown },
];
const openai = ({ maxRetries }: Asked) =>
  new OpenAI({ baseURL: `${on.serving.url}/v1`, apiKey: 'none', maxRetries });
const signalOf = ({ signal }: Asked) => (signal === undefined ? {} : { signal });
const openaiErrors = {
  limited: OpenAI.RateLimitError,
  unavailable: OpenAI.InternalServerError,
  aborted: OpenAI.APIUserAbortError,
};

const apis: readonly Api[] = [
  [
    'chat',
    async (words, how, more) => {
      const messages = [{ role: 'user', content: words } as const];
      const asked = { model: 'clawloop', messages, ...more };
      const { id, choices } = await openai(how).chat.completions.create(asked, signalOf(how));
      return { id, text: choices[0]!.message.content! };
    },
    openaiErrors,
  ],
  [
    'responses',
    async (words, how, more) => {
      const asked = { model: 'clawloop', input: words, ...more };
      const { id, output_text } = await openai(how).responses.create(asked, signalOf(how));
      return { id, text: output_text };
    },
    openaiErrors,
  ],
  [
    'messages',
    async (words, how, more) => {
      const client = new Anthropic({ baseURL: on.serving.url, apiKey: 'none', maxRetries: how.maxRetries });
      const messages = [{ role: 'user', content: words } as const];
      const asked = { model: 'clawloop', max_tokens: 20, messages, ...more };
      const { id, content } = await client.messages.create(asked, signalOf(how));
      return { id, text: content.map((block) => (block.type === 'text' ? block.text : '')).join('') };
    },
    {
      limited: Anthropic.RateLimitError,
      unavailable: Anthropic.InternalServerError,
      aborted: Anthropic.APIUserAbortError,
    },
  ],
];

const hello: Brain = () => ({ text: 'Hello there' });
const completed = async (words: string) =>
  (await on.folder.events('conversations')).filter(
    (event) => event.type === 'interaction.completed' && JSON.stringify(event.data.messages).includes(words),
  );
const failures = async () =>
  (await on.folder.events('conversations')).filter((event) => event.type === 'interaction.failed');

describe.each(apis)('%s', (name, ask, errors) => {
  test.each([
    [429, 'limited'],
    [503, 'unavailable'],
  ] as const)('the client reports %i with Retry-After, or waits and retries', async (status, kind) => {
    think(on.upstream, failingFirst(hello, { status, retryAfter: 1 }));
    const refused = await ask('hi', { maxRetries: 0 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(errors[kind]);
    const { headers } = refused as { readonly headers: Headers };
    expect([headers.get('retry-after'), (refused as { readonly status: number }).status]).toEqual([
      '1',
      status,
    ]);
    think(on.upstream, failingFirst(hello, { status, retryAfter: 1 }));
    const before = { time: performance.now(), calls: on.upstream.calls.length };
    const words = `hi (${name}, ${status})`;
    const answer = await ask(words, { maxRetries: 1 });
    expect(answer.text).toBe('Hello there');
    expect(performance.now() - before.time).toBeGreaterThan(990);
    expect(on.upstream.calls.length - before.calls).toBe(2);
    expect((await completed(words)).map(({ id }) => id)).toEqual([answer.id]);
  });

  test('a key at its limit is answered when its previous answer has ended', async () => {
    const { promise: gate, resolve: go } = Promise.withResolvers<void>();
    let calls = 0;
    think(on.upstream, () => {
      calls += 1;
      return calls === 1 ? { text: 'Hello there', after: gate } : { text: 'Hello again' };
    });
    const first = ask(`first (${name})`, { maxRetries: 0 });
    await until('the first is asked', () => calls > 0);
    await expect(ask('hi', { maxRetries: 0 })).rejects.toMatchObject({ status: 429 });
    const second = ask(`second (${name})`, { maxRetries: 3 });
    go();
    expect((await first).text).toBe('Hello there');
    expect((await second).text).toBe('Hello again');
  });

  test('an invalid request is not retried', async () => {
    think(on.upstream, hello);
    const calls = on.upstream.calls.length;
    const before = performance.now();
    const refused = ask('hi', { maxRetries: 5 }, { temperature: -1 });
    await expect(refused).rejects.toMatchObject({ status: 400 });
    expect(on.upstream.calls.length).toBe(calls);
    expect(performance.now() - before).toBeLessThan(5000);
  });

  test('a client that stops waiting for an answer gets its own error, and is recorded as disconnected', async () => {
    think(on.upstream, () => ({ after: new Promise(() => {}) }));
    const stop = new AbortController();
    const [calls, aborted] = [on.upstream.calls.length, on.upstream.aborted()];
    const before = (await failures()).length;
    const asked = ask('hi', { maxRetries: 2, signal: stop.signal }).catch((error: unknown) => error);
    await until('it is asked', () => on.upstream.calls.length > calls);
    stop.abort();
    expect(await asked).toBeInstanceOf(errors.aborted);
    await until('the engine sees the abort', () => on.upstream.aborted() > aborted);
    expect(on.upstream.calls.length).toBe(calls + 1);
    const failed = await until('the fact', async () => (await failures())[before]);
    expect(failed.data.code).toBe('client-disconnected');
  });
});
