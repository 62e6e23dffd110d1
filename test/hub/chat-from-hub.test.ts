import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startClawLoop, until } from '../e2e/harness/clawloop.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { startHubServer } from './hub-server.ts';

test('all services start on a model by its id: it comes once, and answers', async () => {
  const root = await mkdtemp(join(tmpdir(), 'chat-from-hub-'));
  const source = join(root, 'source');
  await makeRandomModel(source, { ...randomModels['smollm2-135m'], vocabularySize: 1100, layers: 1 });
  const files = new Map<string, Buffer>();
  for (const name of await readdir(source)) files.set(name, await readFile(join(source, name)));
  const hub = await startHubServer({ 'someone/small': { commit: 'c'.repeat(40), files } });
  const cache = join(root, 'cache');
  try {
    const flags = [
      '--model',
      'someone/small',
      '--hub-url',
      hub.url,
      '--hub-cache',
      cache,
      '--backend',
      'wasm',
    ];
    const clawloop = await startClawLoop(join(root, 'data'), flags);
    try {
      await until('it came whole', () => /someone\/small \[#+\] 100 %/.test(clawloop.output()));
      const response = await fetch(`${clawloop.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'clawloop',
          messages: [{ role: 'user', content: 'Hello' }],
          max_tokens: 5,
        }),
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ usage: { completion_tokens: expect.any(Number) } });
      const trainerLog = join(root, 'data', 'logs', 'trainer.log');
      await until('the trainer has the model', async () =>
        (await readFile(trainerLog, 'utf8')).includes('ready to train'),
      );
    } finally {
      await clawloop.stop();
    }
    const wholes = hub.served.filter(({ path, range }) => path.startsWith('/cdn/') && range !== 'bytes=0-0');
    expect(wholes).toHaveLength(1);
  } finally {
    await hub.close();
    await rm(root, { recursive: true });
  }
});
