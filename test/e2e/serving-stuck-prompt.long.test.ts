import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder, tinyModel } from './serving-process.ts';

/** A chat template that never ends for one message. */
const SPINS =
  "{% if messages[-1].content == 'spin' %}{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}{% endif %}";

let model: string;
let folder: ServingFolder;
let serving: ServingProcess;
beforeAll(async () => {
  model = await mkdtemp(join(tmpdir(), 'clawloop-model-'));
  await cp(tinyModel, model, { recursive: true });
  const path = join(model, 'tokenizer_config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as { readonly chat_template: string };
  await writeFile(path, JSON.stringify({ ...config, chat_template: SPINS + config.chat_template }));
  folder = await servingFolder();
  serving = await folder.start(['--model', model, '--prompt-timeout-ms', '3000']);
});
afterAll(async () => {
  await folder?.dispose();
  await rm(model, { recursive: true, force: true });
});

const ask = (path: string, content: string) =>
  fetch(`${serving.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'clawloop', max_tokens: 4, messages: [{ role: 'user', content }] }),
  });

test.each([
  ['/v1/chat/completions', { error: { code: 'request_too_costly', param: 'messages' } }],
  ['/v1/messages', { type: 'error', error: { type: 'invalid_request_error' } }],
])('a prompt whose template never ends is refused by %s, and others are answered', async (path, body) => {
  const stuck = ask(path, 'spin');
  await until(
    'serving is not ready',
    async () => (await fetch(`${serving.url}/readyz`)).status === 503,
    30_000,
  );
  const other = ask(path, 'hello');
  const refused = await stuck;
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject(body);
  expect((await other).status).toBe(200);
  expect((await fetch(`${serving.url}/readyz`)).status).toBe(200);
  expect(serving.isAlive()).toBe(true);
});
