import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAccessKey } from '../../../shared/runtime/access-keys.ts';
import { banner } from './banner.ts';
import { withKeysOf } from './readiness.ts';

const endpoint = { url: 'http://127.0.0.1:8700', host: '127.0.0.1', port: 8700, needsKey: false };

const shown = { model: 'claw-nano', adapters: ['default'] };

test('the commands in the banner name a data folder that is not the default', () => {
  expect(banner(endpoint, '/data/claw', shown)).toContain('turns list --why --data-folder /data/claw');
  expect(banner(endpoint, resolve('.clawloop'), shown)).not.toContain('--data-folder');
});

test('the banner names the models of all adapters', () => {
  expect(banner(endpoint, '/data/claw', shown)).toContain('(claw-nano; also clawloop@base)');
  const several = { ...shown, adapters: ['alice', 'bob', 'carol'] };
  expect(banner(endpoint, '/data/claw', several)).toContain(
    'also clawloop@base, clawloop:bob, clawloop:carol)',
  );
});

test('the banner says whether a key is required and where it goes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-banner-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'keys.json');
  const currentBanner = async () => banner(await withKeysOf(path, endpoint), '/data/claw', shown);
  expect(await currentBanner()).toContain('not required on this machine');
  expect(await currentBanner()).not.toContain('authorization');
  await createAccessKey(path, 'ann');
  expect(await currentBanner()).toContain("-H 'authorization: Bearer KEY'");
  expect(await currentBanner()).not.toContain('not required');
});
