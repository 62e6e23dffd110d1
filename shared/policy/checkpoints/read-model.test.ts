import { cp, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { modelFolder } from '../model/model-folder.ts';
import { loadChatTemplate } from '../text/chat-template.ts';
import { loadTokenizer } from '../text/tokenizer.ts';
import { openCheckpoint } from './checkpoint.ts';
import { DamagedModel, readModel } from './read-model.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'damaged-'));
  await cp(modelFolder('claw-nano'), folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

const path = (name: string): string => join(folder, name);
const faultOf = (read: Promise<unknown>): Promise<unknown> =>
  read.then(() => undefined).catch((error) => error);

test.each([
  ['weights that were cut off', openCheckpoint, () => truncate(path('model.safetensors'), 100_000)],
  ['weights that are none', openCheckpoint, () => writeFile(path('model.safetensors'), 'x'.repeat(5000))],
  ['no weights', openCheckpoint, () => rm(path('model.safetensors'))],
  ['no configuration', openCheckpoint, () => rm(path('config.json'))],
  ['half a configuration', openCheckpoint, () => writeFile(path('config.json'), '{"model_type":')],
  ['an empty tokenizer', loadTokenizer, () => writeFile(path('tokenizer.json'), '')],
  ['another tokenizer', loadTokenizer, () => writeFile(path('tokenizer.json'), '{}')],
  ['half a template', loadChatTemplate, () => writeFile(path('tokenizer_config.json'), '{"chat_')],
] as const)('%s: the model is damaged, and the message names the folder', async (_, read, breakIt) => {
  await read(folder);
  await breakIt();
  const fault = await faultOf(read(folder));
  expect(fault).toBeInstanceOf(DamagedModel);
  expect((fault as Error).message).toContain(folder);
});

test('disk errors of the system are temporary, not damage', async () => {
  const busy = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  expect(await faultOf(readModel(folder, () => Promise.reject(busy)))).toBe(busy);
});
