import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Json } from './json.ts';
import { withProvider } from './settings.ts';
import { type Plan, planSettings, writePlan } from './write-settings.ts';

const model = { baseUrl: 'http://h/v1', apiKey: 'k', id: 'm', contextWindow: 32_768, maxTokens: 512 };
const change = (settings: Json) => withProvider(settings, model);
const now = new Date(Date.UTC(2026, 0, 2, 3, 4, 5));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-settings-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const planned = (plan: Plan) => {
  if (plan.kind !== 'write') throw new Error(`nothing to write: ${plan.kind}`);
  return plan;
};

test('a missing file is created, for its owner only; a second run changes nothing', async () => {
  const file = join(folder, 'deep', 'openclaw.json');
  expect(await writePlan(planned(await planSettings(file, change)), now)).toBeUndefined();
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    models: { providers: { clawloop: { baseUrl: 'http://h/v1' } } },
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await planSettings(file, change)).toEqual({ kind: 'nothing' });
});

test('a file behind a link is changed in place, keeps its mode, and is backed up', async () => {
  const file = join(folder, 'real.json');
  const text = '{"gateway":{"port":1}}';
  await writeFile(file, text);
  await chmod(file, 0o640);
  await symlink(file, join(folder, 'openclaw.json'));
  const backup = await writePlan(planned(await planSettings(join(folder, 'openclaw.json'), change)), now);
  expect(backup).toBe(`${file}.2026-01-02T03-04-05.000Z.bak`);
  expect(await readFile(backup!, 'utf8')).toBe(text);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ gateway: { port: 1 } });
  expect((await stat(file)).mode & 0o777).toBe(0o640);
  expect((await readdir(folder)).sort()).toEqual(['openclaw.json', 'real.json', backup!.split('/').at(-1)]);
});

test('a file with comments is not rewritten', async () => {
  const file = join(folder, 'openclaw.json');
  await writeFile(file, '{\n  // mine\n  gateway: {},\n}\n');
  expect(await planSettings(file, change)).toEqual({ kind: 'by-hand' });
});

test('a file that changed since the plan is not rewritten', async () => {
  const file = join(folder, 'openclaw.json');
  await writeFile(file, '{}');
  const plan = planned(await planSettings(file, change));
  await writeFile(file, '{"gateway":{}}');
  await expect(writePlan(plan, now)).rejects.toThrow('changed meanwhile');
  expect(await readFile(file, 'utf8')).toBe('{"gateway":{}}');
  expect(await readdir(folder)).toEqual(['openclaw.json']);
});
