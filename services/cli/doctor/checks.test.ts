import { chmod, cp, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CLAW_NANO, modelFolder } from '../../../shared/policy/model/model-folder.ts';
import { modelFiles, writableFolder } from './checks.ts';
import { leftovers } from './leftovers.ts';

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

test('what was set aside is named with its size, and what becomes of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  expect(await leftovers(folder)).toEqual([]);
  const copy = join(folder, 'adapters', 'default', 'clawloop-default-v1-0123abcd');
  await mkdir(copy, { recursive: true });
  await writeFile(join(copy, 'adapter_model.safetensors'), 'x'.repeat(1_500_000));
  const what = 'in the data folder, copies of adapters: 1 (1.5 MB)';
  expect(await leftovers(folder)).toEqual([{ state: 'ok', what }]);
  const aside = join(folder, 'checkpoints', 'default', '.aside-1-0123456789ab-0');
  await mkdir(aside, { recursive: true });
  await writeFile(join(aside, 'adapter_model.safetensors'), 'x'.repeat(2_000_000));
  await mkdir(join(folder, 'outbox'));
  await writeFile(join(folder, 'outbox', '1-a.json.broken'), '{');
  await writeFile(join(folder, 'outbox', '2-a.json'), '{}');
  expect(await leftovers(folder)).toEqual([
    {
      state: 'note',
      what: 'in the data folder, checkpoints that were set aside: 1 (2.0 MB), events that were set aside: 1 (0.0 MB), copies of adapters: 1 (1.5 MB)',
      advice: 'look at what was set aside; it is removed after --aside-days, or above --aside-mib',
    },
  ]);
});
