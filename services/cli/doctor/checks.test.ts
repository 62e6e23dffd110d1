import { chmod, cp, mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CLAW_NANO, modelFolder } from '../../../shared/policy/model/model-folder.ts';
import { modelFiles, writableFolder } from './checks.ts';

test('a data folder that other users can enter is noted, with a fix', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  expect(await writableFolder(folder)).toEqual({ state: 'ok', what: `data folder ${folder}` });
  await chmod(folder, 0o750);
  expect(await writableFolder(folder)).toMatchObject({ state: 'note', advice: `chmod -R go= ${folder}` });
});

test('a model that is missing or damaged is a finding, not the end of the check', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  vi.stubEnv('CLAWLOOP_MODEL', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await modelFiles()).toMatchObject({
    state: 'bad',
    what: expect.stringContaining(`no model at ${folder}`),
  });
  await cp(modelFolder(CLAW_NANO), folder, { recursive: true });
  expect(await modelFiles()).toMatchObject({ state: 'ok' });
  await truncate(join(folder, 'model.safetensors'), 1_000_000);
  expect(await modelFiles()).toMatchObject({ state: 'bad', what: expect.stringContaining('truncated') });
});
