import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clawloop } from '../e2e/harness/clawloop.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { startHubServer } from '../hub/hub-server.ts';

let root = '';
let folder = '';
let server: Awaited<ReturnType<typeof startHubServer>>;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'model-command-'));
  folder = join(root, 'model');
  await makeRandomModel(folder, { ...randomModels['smollm2-135m'], vocabularySize: 1100, layers: 1 });
  const files = new Map<string, Buffer>();
  for (const name of await readdir(folder)) files.set(name, await readFile(join(folder, name)));
  const repository = { commit: 'b'.repeat(40), files };
  server = await startHubServer({
    'someone/small': repository,
    'someone/gated': { ...repository, token: 'hf_right' },
  });
});
afterAll(async () => {
  await server.close();
  await rm(root, { recursive: true });
});

test('check says what a model is, how it reads a chat, what it answers and what it needs', async () => {
  const { code, stdout, stderr } = await clawloop(['model', 'check', folder, '--backend', 'wasm']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/family +llama\n/);
  expect(stdout).toMatch(
    /layers +1 of 576, 9 heads of 64, 3 for keys and values; head tied to the embedding\n/,
  );
  expect(stdout).toMatch(/answers end with +"<\|im_end\|>" \(1023\)/);
  expect(stdout).toContain('  | <|im_start|>user\n  | What should I pack for a weekend trip?<|im_end|>\n');
  expect(stdout).toMatch(/its answer, \d+ tokens in [\d.]+ s on wasm:\n {2}\| /);
  expect(stdout).toMatch(/keys and values, per 1000 tokens .* 1\.5 MB +1\.5 MB\n/);
  expect(stdout).toMatch(/training at its peak +\d+ MB +\d+ MB\n/);
});

test('fetch brings a model, says how far it is, and prints the folder that is then found offline', async () => {
  const hub = ['--hub-url', server.url, '--hub-cache', join(root, 'cache')];
  const fetched = await clawloop(['model', 'fetch', 'someone/small', ...hub]);
  expect(fetched.code).toBe(0);
  expect(fetched.stderr).toMatch(/^someone\/small \[-+\] 0 % 0 of \d+ MB, config\.json$/m);
  expect(fetched.stderr).toMatch(/^someone\/small \[#+\] 100 % .*, model\.safetensors$/m);
  const found = fetched.stdout.trim();
  expect((await readdir(found)).sort()).toEqual((await readdir(folder)).sort());

  const asked = server.served.length;
  const checked = await clawloop(['model', 'check', 'someone/small', ...hub, '--backend', 'wasm']);
  expect(checked.code).toBe(0);
  expect(checked.stdout).toContain(found);
  expect(server.served.length).toBe(asked);
});

test('a model with fewer rows than its tokenizer has tokens is refused by both numbers', async () => {
  const small = join(root, 'small');
  await makeRandomModel(small, { ...randomModels['smollm2-135m'], vocabularySize: 1000, layers: 1 });
  const { code, stderr } = await clawloop(['model', 'check', small, '--backend', 'wasm']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/its tokenizer has \d{4} tokens, but its embedding has only 1000 rows/);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

test('what cannot be had ends with what to do, without a stack, and shows no token', async () => {
  const hub = ['--hub-url', server.url, '--hub-cache', join(root, 'cache')];
  const gated = await clawloop(['model', 'check', 'someone/gated', ...hub], {
    CLAWLOOP_HUB_TOKEN: 'hf_wrong',
  });
  expect(gated.code).toBe(2);
  expect(gated.stderr).toMatch(/^clawloop: the token in use has no access to someone\/gated: accept/);
  expect(gated.stderr + gated.stdout).not.toContain('hf_wrong');
  const away = ['--hub-url', 'http://127.0.0.1:9', '--hub-cache', join(root, 'none')];
  const unreachable = await clawloop(['model', 'fetch', 'someone/small', ...away]);
  expect(unreachable.code).toBe(1);
  expect(unreachable.stderr).toMatch(
    /^clawloop: someone\/small cannot be fetched from http:\/\/127.0.0.1:9 /,
  );

  const other = join(root, 'other');
  await mkdir(other);
  await writeFile(join(other, 'config.json'), '{"model_type":"gpt_oss"}');
  await writeFile(join(other, 'tokenizer.json'), '{}');
  await writeFile(join(other, 'model.safetensors'), '');
  const unsupported = await clawloop(['model', 'check', other]);
  expect(unsupported.code).toBe(2);
  expect(unsupported.stderr).toBe(
    'clawloop: config.json has model_type "gpt_oss"; supported are llama, qwen2, qwen3\n',
  );
});
