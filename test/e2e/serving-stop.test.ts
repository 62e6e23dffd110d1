import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServingFolder, servingFolder } from './serving-process.ts';

let folder: ServingFolder;
beforeAll(async () => {
  folder = await servingFolder();
});
afterAll(() => folder.dispose());

test('a connection that never asked for anything holds up no end', async () => {
  const serving = await folder.start(
    ['--engine', 'upstream', '--upstream-url', 'http://127.0.0.1:9/v1'],
    'listening',
  );
  const socket = connect(Number(new URL(serving.url).port), '127.0.0.1');
  socket.on('error', () => {}); // it may be reset
  await once(socket, 'connect');
  const began = performance.now();
  expect(await serving.stop()).toBe(0);
  expect(performance.now() - began).toBeLessThan(6_000); // open answers alone would have longer
  socket.destroy();
});
