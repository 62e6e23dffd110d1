import { afterEach, beforeEach, expect, test } from 'vitest';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { openServerProcess, type ServerProcess } from './server-process.ts';
import { openTrainerFolder, type TrainerFolder } from './trainer-process.ts';
import { onServer, serverSettings } from './trainer-server-kills.ts';

/** Many people with one adapter each; a few have a batch at the same time. */
const ADAPTERS = 200;
const PARALLEL = 8;

let server: ServerProcess;
let folder: TrainerFolder;
beforeEach(async () => {
  // One model for each step, and one more while its base is read.
  server = await openServerProcess(['--most-models', String(2 * PARALLEL)]);
  folder = await openTrainerFolder(referencePath('models/qwen3-tiny'));
});
afterEach(async () => {
  await folder.dispose();
  await server.dispose();
});

test('two hundred adapters are trained side by side by one trainer, each once', async () => {
  const adapters = Array.from({ length: ADAPTERS }, (_, index) => `person-${index}`);
  const { start, submit, settled, events } = folder;
  start([...onServer(server), '--adapters', adapters.join(','), '--training-parallel', String(PARALLEL)]);
  for (const adapter of adapters) await submit(1, { adapter, settings: serverSettings });
  for (const adapter of adapters) expect(await settled(1, adapter)).toMatchObject({ head: 1 });
  const trained = events().flatMap((event) => (event.type === 'policy.trained' ? [event.subject] : []));
  expect(new Set(trained).size).toBe(ADAPTERS);
  expect(trained).toHaveLength(ADAPTERS);
  const { models, states } = await server.state();
  expect(models).toEqual([]);
  expect(states.filter((path) => path.includes('/weights/'))).toHaveLength(ADAPTERS);
});
