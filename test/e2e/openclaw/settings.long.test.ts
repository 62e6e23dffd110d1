import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClawSettings } from '../../../services/cli/doctor/openclaw.ts';
import { clawloop } from '../harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from '../serving-process.ts';

describe("OpenClaw's settings for a running server", () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  let home: string;
  let file: string;
  beforeAll(async () => {
    folder = await servingFolder();
    home = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-home-'));
    file = join(home, 'openclaw.json');
    serving = await folder.start(['--api-key', 'a-secret-key-of-this-test']);
  });
  afterAll(async () => {
    await folder?.dispose();
    await rm(home, { recursive: true, force: true });
  });

  const config = (...more: readonly string[]) =>
    clawloop(['openclaw', 'config', '--url', serving.url, '--key', 'a-secret-key-of-this-test', ...more]);
  const found = () => openClawSettings(file, serving.url);

  test('are printed, with the limits of the served model', async () => {
    const { code, stdout, stderr } = await config();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const served = (await (
      await fetch(`${serving.url}/v1/models`, {
        headers: { authorization: 'Bearer a-secret-key-of-this-test' },
      })
    ).json()) as { data: readonly { id: string; max_model_len: number; clawloop: object }[] };
    const { id, max_model_len: reads, clawloop: extension } = served.data[0]!;
    expect(extension).toEqual({ live: true, context: 'window' });
    expect(JSON.parse(stdout)).toEqual({
      models: {
        providers: {
          clawloop: {
            baseUrl: `${serving.url}/v1`,
            apiKey: 'a-secret-key-of-this-test',
            api: 'openai-completions',
            models: [
              expect.objectContaining({
                id,
                contextWindow: 32_768,
                maxTokens: Math.min(8_192, Math.floor(reads / 4)),
              }),
            ],
          },
        },
      },
      agents: { defaults: { model: { primary: `clawloop/${id}` } } },
    });
  });

  test('are written only after confirmation; the doctor then finds them correct', async () => {
    expect(await found()).toEqual([]); // no OpenClaw here
    await writeFile(file, '{"gateway": {"port": 1}}');
    expect(await found()).toMatchObject([{ state: 'note', advice: expect.stringContaining('--write') }]);
    const unasked = await config('--write', '--file', file);
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was written') });
    expect(unasked.stderr).toContain('--yes'); // the test has no terminal
    expect(await readFile(file, 'utf8')).toBe('{"gateway": {"port": 1}}');
    const agreed = await config('--write', '--yes', '--file', file);
    expect(agreed).toMatchObject({ code: 0, stdout: expect.stringContaining('backup: ') });
    expect(await found()).toEqual([
      { state: 'ok', what: `OpenClaw uses clawloop/clawloop at ${serving.url}/v1` },
    ]);
  });

  test.each([
    ['a key that is not accepted', { apiKey: 'wrong' }, 'rejects its key'],
    ['an unreachable server', { baseUrl: 'http://127.0.0.1:9/v1' }, 'nothing answers'],
    ['an unknown model', { models: [{ id: 'clawloop@v99', contextWindow: 32_768 }] }, 'has no model'],
    [
      'a context that is too small',
      { models: [{ id: 'clawloop', contextWindow: 8_000 }] },
      'at least 16000 is needed',
    ],
  ])('the doctor finds %s', async (_, change, what) => {
    const right = JSON.parse((await config()).stdout) as {
      models: { providers: { clawloop: object } };
    };
    const provider = { ...right.models.providers.clawloop, ...change };
    await writeFile(file, JSON.stringify({ ...right, models: { providers: { clawloop: provider } } }));
    expect(await found()).toMatchObject([{ state: 'bad', what: expect.stringContaining(what) }]);
  });

  test('a missing or wrong key and an unreachable server are reported without a stack', async () => {
    const without = await clawloop(['openclaw', 'config', '--url', serving.url]);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('requires a key') });
    const gone = await clawloop(['openclaw', '--url', 'http://127.0.0.1:9']);
    expect(gone).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing answers') });
  });
});
