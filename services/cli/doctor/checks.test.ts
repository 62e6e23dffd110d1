import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import { endpointOf } from '../up/readiness.ts';
import { writeRunning } from '../up/running.ts';
import { endpointHere } from './checks.ts';

test('doctor looks where the ClawLoop of the data folder listens, whatever port it was told', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-doctor-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  expect(endpointHere(root)).toBe(endpointOf().url);
  const { running } = dataFolder(root);
  writeRunning(running, { supervisor: 1, services: {}, endpoint: 'http://127.0.0.1:9123' });
  expect(endpointHere(root)).toBe('http://127.0.0.1:9123');
});
