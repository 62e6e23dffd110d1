import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { banner } from './banner.ts';

const endpoint = { url: 'http://127.0.0.1:8700', host: '127.0.0.1', port: 8700, needsKey: false };

test('the commands that it names find the data folder, wherever it is', () => {
  expect(banner(endpoint, '/data/claw', 'claw-nano')).toContain('turns list --why --data-folder /data/claw');
  expect(banner(endpoint, resolve('.clawloop'), 'claw-nano')).not.toContain('--data-folder');
});
