import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { endpointHere } from './endpoint-here.ts';
import { endpointOf } from './readiness.ts';
import { writeRunning } from './running.ts';

test('commands find the ClawLoop of the data folder on any port', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-endpoint-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  expect(endpointHere(root)).toBe(endpointOf().url);
  const { running } = dataFolder(root);
  writeRunning(running, { supervisor: process.pid, services: {}, endpoint: 'http://127.0.0.1:9123' });
  expect(endpointHere(root)).toBe('http://127.0.0.1:9123');
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeRunning(running, { supervisor: pid, services: {}, endpoint: 'http://127.0.0.1:9123' });
  expect(endpointHere(root), 'of one that was killed').toBe(endpointOf().url);
});
