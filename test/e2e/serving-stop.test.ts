import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, servingFolder } from './serving-process.ts';
import { deltaFrame, finishFrame, upstreamDouble } from './serving-upstream-double.ts';

let folder: ServingFolder;
beforeAll(async () => {
  folder = await servingFolder();
});
afterAll(() => folder.dispose());

test('a connection without a request does not delay the end', async () => {
  const serving = await folder.start(
    ['--engine', 'upstream', '--upstream-url', 'http://127.0.0.1:9/v1'],
    'listening',
  );
  const socket = connect(Number(new URL(serving.url).port), '127.0.0.1');
  socket.on('error', () => {}); // it may be reset
  await once(socket, 'connect');
  const began = performance.now();
  expect(await serving.stop()).toBe(0);
  expect(performance.now() - began).toBeLessThan(6_000); // open answers would have more time
  socket.destroy();
});

test('without its supervisor it cuts open answers short, and frees its port', async () => {
  const upstream = await upstreamDouble();
  onTestFinished(() => upstream.close());
  const { promise: gate, resolve: go } = Promise.withResolvers<void>();
  upstream.script(async (_, response) => {
    const send = (frame: object) => response.write(`data: ${JSON.stringify(frame)}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    send(deltaFrame({ content: 'Hel' }));
    await gate;
    send(deltaFrame({ content: 'lo' }));
    send(finishFrame('stop'));
    response.end('data: [DONE]\n\n');
  });
  const serving = await folder.start(['--engine', 'upstream', '--upstream-url', upstream.url], 'listening');
  const stream = await serving.client.chat.completions.create({
    model: 'clawloop',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  });
  const ids: string[] = [];
  const begun = Promise.withResolvers<void>();
  const read = (async () => {
    for await (const { id, choices } of stream) {
      ids.push(id);
      if (choices[0]?.delta.content) begun.resolve();
    }
  })().catch(() => {});
  await begun.promise;
  const ended = serving.abandon();
  await until('the port is free', () =>
    fetch(`${serving.url}/healthz`).then(
      () => undefined,
      () => true,
    ),
  );
  go(); // otherwise it would be a whole answer
  expect(await ended).toBe(0);
  await read;
  expect(await folder.interaction(ids[0]!)).toMatchObject({ finishReason: 'aborted', disconnected: false });
});
