import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { banner } from './banner.ts';

const endpoint = { url: 'http://127.0.0.1:8700', host: '127.0.0.1', port: 8700, needsKey: false };

const shown = { model: 'claw-nano', adapters: ['default'] };

test('the commands that it names find the data folder, wherever it is', () => {
  expect(banner(endpoint, '/data/claw', shown)).toContain('turns list --why --data-folder /data/claw');
  expect(banner(endpoint, resolve('.clawloop'), shown)).not.toContain('--data-folder');
});

test('it names the models of all adapters', () => {
  expect(banner(endpoint, '/data/claw', shown)).toContain('(claw-nano; also clawloop@base)');
  const several = { ...shown, adapters: ['alice', 'bob', 'carol'] };
  expect(banner(endpoint, '/data/claw', several)).toContain(
    'also clawloop@base, clawloop:bob, clawloop:carol)',
  );
});
