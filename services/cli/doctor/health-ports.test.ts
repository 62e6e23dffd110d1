import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openHealthPort } from '../../../shared/runtime/health.ts';
import { healthHere, healthOf } from '../up/health-here.ts';
import { writeRunning } from '../up/running.ts';
import { healthPorts } from './health-ports.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-health-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

/** A service's health port, as it opens one. */
const listening = async (missing?: string): Promise<string> => {
  const where = { host: '127.0.0.1', port: 0 };
  const health = await openHealthPort(where, () => missing, new Registry());
  onTestFinished(() => health.close());
  return `http://127.0.0.1:${health.port}`;
};
const runs = (health: Readonly<Record<string, string>>, supervisor = process.pid): void =>
  writeRunning(dataFolder(root).running, {
    supervisor,
    services: {},
    endpoint: 'http://127.0.0.1:1',
    health,
  });

test('running services are asked at the ports they were configured with', async () => {
  const [collector, judge] = [await listening(), await listening('reading the log')];
  runs({ collector, judge });
  expect(await healthPorts(healthHere(root))).toEqual([
    { state: 'ok', what: `collector is ready at ${collector}` },
    { state: 'bad', what: `judge at ${judge} is not ready: reading the log` },
    { state: 'note', what: 'trainer uses a random health port, so it was not checked' },
  ]);
  runs({ trainer: 'http://127.0.0.1:1' }); // a port without a listener
  const [, , trainer] = await healthPorts(healthHere(root));
  expect(trainer).toMatchObject({ state: 'bad', what: 'trainer does not answer at http://127.0.0.1:1' });
});

test('when nothing runs on the folder, the settings give the ports', () => {
  const urls = {
    collector: 'http://127.0.0.1:8701',
    judge: 'http://127.0.0.1:8702',
    trainer: 'http://127.0.0.1:8703',
  };
  expect(healthHere(root)).toEqual({ isRunning: false, urls });
  runs({ collector: 'http://127.0.0.1:9' }, spawnSync(process.execPath, ['--version']).pid);
  expect(healthHere(root)).toEqual({ isRunning: false, urls });
});

test('flags of one service and flags of all services both count', () => {
  const flags = { judge: ['--health-port', '9001'], trainer: ['--health-port', '0'] };
  const urls = healthOf((name) => ['--health-host', '0.0.0.0', ...(flags[name as 'judge'] ?? [])]);
  expect(urls).toEqual({
    collector: 'http://127.0.0.1:8701',
    judge: 'http://127.0.0.1:9001',
    trainer: undefined,
  });
});
