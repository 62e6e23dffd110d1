import { describe, expect, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { servingForSuite } from './serving-process.ts';

const user = (content: string) => ({ role: 'user', content }) as const;

describe('many requests at once', () => {
  const on = servingForSuite(['--backend', 'auto']);

  test('a disconnect stops the answer, and the disconnect is recorded', async () => {
    const leave = async (): Promise<string> => {
      const stop = new AbortController();
      const stream = await on.serving.client.chat.completions.create(
        {
          model: 'clawloop',
          messages: [user('a long one')],
          logit_bias: { 1202: -100, 1200: -100 },
          stream: true,
        },
        { signal: stop.signal },
      );
      let id = '';
      for await (const chunk of stream) {
        id = chunk.id;
        if (chunk.choices[0]?.delta.content) stop.abort();
      }
      return id;
    };
    // the answer may end before a slow client disconnects
    const fact = await until(
      'an answer is stopped',
      async () => {
        const id = await leave();
        const recorded = await until('the fact', () => on.folder.interaction(id).catch(() => undefined));
        return recorded.finishReason === 'aborted' && recorded.tokens!.responseIds.length < 400 && recorded;
      },
      30_000,
    );
    expect(fact.disconnected).toBe(true);
    expect(
      await until('it stopped', async () => (await on.serving.metric('clawloop_engine_running')) === 0),
    ).toBe(true);
  });

  test('a request whose client leaves before its first token is counted as 499', async () => {
    const request = {
      model: 'clawloop',
      messages: [user('a long one')],
      logit_bias: { 1202: -100, 1200: -100 },
    };
    const left = () =>
      on.serving.metric(
        'clawloop_serving_requests_total{route="/v1/chat/completions",status="499",service="serving"}',
      );
    expect(await left()).toBeNaN();
    await until('a request is counted', async () => {
      const stop = new AbortController();
      const asked = on.serving.client.chat.completions
        .create(request, { signal: stop.signal })
        .catch(() => {});
      await until('it runs', async () => (await on.serving.metric('clawloop_engine_running')) > 0);
      stop.abort();
      await asked;
      await until('it stopped', async () => (await on.serving.metric('clawloop_engine_running')) === 0);
      return (await left()) > 0;
    });
  });

  test('eight streams share their steps, and the health route answers between two chunks', async () => {
    const [steps, moved] = [
      await on.serving.metric('clawloop_engine_steps'),
      await on.serving.metric('clawloop_engine_step_sequences'),
    ];
    let open = 8;
    let healthy = 0;
    const streams = Array.from({ length: 8 }, async (_, index) => {
      const stream = await on.serving.client.chat.completions.create({
        model: 'clawloop',
        messages: [user(`story ${index}`)],
        max_tokens: 400, // they begin one after the other
        logit_bias: { 1202: -100, 1200: -100 },
        stream: true,
      });
      let chunks = 0;
      for await (const _ of stream) chunks++;
      open -= 1;
      return chunks;
    });
    while (open > 0) {
      expect((await fetch(`${on.serving.url}/healthz`)).status).toBe(200);
      if (open > 0) healthy += 1;
    }
    for (const chunks of await Promise.all(streams)) expect(chunks).toBeGreaterThan(10);
    expect(healthy).toBeGreaterThan(2);
    const sharing =
      ((await on.serving.metric('clawloop_engine_step_sequences')) - moved) /
      ((await on.serving.metric('clawloop_engine_steps')) - steps);
    expect(sharing).toBeGreaterThan(3);
  });

  test('fifty requests leave no tensor behind', async () => {
    await until('nothing runs', async () => (await on.serving.metric('clawloop_engine_running')) === 0);
    const before = await on.serving.metric('clawloop_engine_tensors');
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        on.serving.client.chat.completions.create({
          model: index % 5 === 0 ? '@base' : 'clawloop',
          messages: [user(`request ${index}`)],
          max_tokens: 1 + (index % 7),
        }),
      ).map((call) => call.catch((error: { readonly status?: number }) => expect(error.status).toBe(429))),
    );
    await until(
      'no more tensors than before',
      async () => (await on.serving.metric('clawloop_engine_tensors')) === before,
      30_000,
    );
  });
});
