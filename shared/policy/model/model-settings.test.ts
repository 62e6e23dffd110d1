import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { modelSettings } from '../../claw-nano/model-files.ts';
import { CLAW_NANO, modelFolder } from './model-folder.ts';
import { loadModelSettings, promptLimits } from './model-settings.ts';

async function folderWith(text: string | undefined): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-model-settings-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (text !== undefined) await writeFile(join(folder, 'clawloop.json'), text);
  return folder;
}

test('the shipped claw-nano has the prompt limits that it is built with', async () => {
  expect(await loadModelSettings(modelFolder(CLAW_NANO))).toEqual(modelSettings);
});

test('a model without limits has none unless a budget is set', async () => {
  const settings = await loadModelSettings(await folderWith(undefined));
  expect(promptLimits(settings, undefined)).toBeUndefined();
  expect(promptLimits(settings, 0)).toBeUndefined();
  expect(promptLimits(settings, 100)).toEqual({ systemTokens: 100 });
});

test("a configured budget replaces the model's, and 0 removes all limits", async () => {
  const folder = await folderWith('{"prompt_limits":{"system_tokens":30,"prompt_tokens":200}}');
  const settings = await loadModelSettings(folder);
  expect(promptLimits(settings, undefined)).toEqual({ systemTokens: 30, promptTokens: 200 });
  expect(promptLimits(settings, 100)).toEqual({ systemTokens: 100, promptTokens: 200 });
  expect(promptLimits(settings, 0)).toBeUndefined();
});

test.each(['{"prompt_limits":{"system_tokens":"many"}}', 'no JSON', '[]'])(
  'an invalid file is named in the error: %s',
  async (text) => {
    await expect(loadModelSettings(await folderWith(text))).rejects.toThrow('clawloop.json is invalid');
  },
);
