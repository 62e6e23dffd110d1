import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { freePort, until } from '../e2e/harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder, tinyModel } from '../e2e/serving-process.ts';
import { pythonWithServing } from './python.ts';

// An engine that somebody else wrote: `transformers serve` on the CPU, with a small random model. It gives no
// token ids and no log-probs, ends its streams without [DONE], and knows neither top_k nor min_p.

const launcher = `
import sys
from transformers.cli.transformers import main
sys.argv = ['transformers', 'serve', *sys.argv[1:]]
main()
`;

describe('behind transformers serve', () => {
  let engine: ChildProcess;
  let folder: ServingFolder;
  let serving: ServingProcess;
  let said = '';
  beforeAll(async () => {
    const port = await freePort();
    engine = spawn(
      pythonWithServing(),
      [
        '-c',
        launcher,
        tinyModel,
        '--device',
        'cpu',
        '--dtype',
        'float32',
        '--host',
        '127.0.0.1',
        '--port',
        String(port),
        '--log-level',
        'info',
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HF_HUB_OFFLINE: '1' } },
    );
    for (const stream of [engine.stdout!, engine.stderr!]) stream.on('data', (part) => (said += part));
    const isWell = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => {
          if (engine.exitCode !== null || engine.signalCode !== null)
            throw new Error(`transformers serve ended:\n${said}`);
          return false;
        },
      );
    await until('transformers serve answers', isWell, 180_000);
    folder = await servingFolder();
    serving = await folder.start([
      '--engine',
      'upstream',
      '--upstream-url',
      `http://127.0.0.1:${port}/v1`,
      '--upstream-model',
      tinyModel,
    ]);
  });
  afterAll(async () => {
    await folder?.dispose();
    if (engine?.exitCode === null && engine.signalCode === null) {
      engine.kill('SIGTERM');
      await once(engine, 'exit');
    }
  });

  const messages = [{ role: 'user', content: 'Tell me a story.' } as const];
  const request = { model: 'clawloop', messages, max_tokens: 12 };
  const factOf = async (id: string) => {
    const found = (await folder.events('conversations')).find((event) => event.id === id);
    return (found as InteractionCompleted | undefined)?.data;
  };

  test('a chat is answered whole, recorded, and does not train, by its name', async () => {
    const answer = await serving.client.chat.completions.create(request);
    expect(answer.choices[0]!.finish_reason).toMatch(/^(stop|length)$/);
    expect(answer.usage!.prompt_tokens).toBeGreaterThan(5);
    const fact = await factOf(answer.id);
    expect(fact).toMatchObject({ tokens: null, untrainable: 'no-token-ids', version: 0, engine: 'upstream' });
    expect(fact!.answer.content).toBe(answer.choices[0]!.message.content);
    expect(fact!.usage.completionTokens).toBe(answer.usage!.completion_tokens);
  });

  test('a chat is streamed as its tokens come', async () => {
    const stream = await serving.client.chat.completions.create({
      ...request,
      max_tokens: 40,
      stream: true,
      stream_options: { include_usage: true },
    });
    let [text, chunks, id] = ['', 0, ''];
    let finish: string | null | undefined;
    let usage: number | undefined;
    for await (const chunk of stream) {
      id = chunk.id;
      const piece = chunk.choices[0]?.delta.content ?? '';
      if (piece !== '') chunks += 1;
      text += piece;
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage?.completion_tokens ?? usage;
    }
    expect(finish).toMatch(/^(stop|length)$/);
    expect(usage).toBeGreaterThan(0);
    if (usage! > 10) expect(chunks).toBeGreaterThan(1);
    expect((await factOf(id))!.answer.content).toBe(text);
  });

  test('a client that goes away ends the request there', async () => {
    const stop = new AbortController();
    const stream = await serving.client.chat.completions.create(
      { ...request, max_tokens: 2_000, stream: true },
      { signal: stop.signal },
    );
    let id = '';
    for await (const chunk of stream) {
      id = chunk.id;
      if (chunk.choices[0]?.delta.content) stop.abort();
    }
    const fact = await until('the fact', () => factOf(id));
    expect(fact).toMatchObject({ finishReason: 'aborted', disconnected: true });
    // it computes one answer after another: this one waits for nothing
    expect((await serving.client.chat.completions.create(request)).choices).toHaveLength(1);
  });

  test('what it refuses is told with its words', async () => {
    await expect(
      serving.client.chat.completions.create({ ...request, top_k: 4 } as typeof request),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('top_k') });
  });

  test('an engine that has gone is told, and its stream breaks without an end', async () => {
    const stream = await serving.client.chat.completions.create({
      ...request,
      max_tokens: 4_000,
      stream: true,
    });
    const drain = async () => {
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) engine.kill('SIGKILL');
    };
    await expect(drain()).rejects.toThrow(/upstream engine failed/i);
    await expect(serving.client.chat.completions.create(request)).rejects.toMatchObject({ status: 502 });
    await until('it is not ready', async () => (await fetch(`${serving.url}/readyz`)).status === 503);
  });
});
