import { expect, test } from 'vitest';
import { onServer, serverSettings, trainerWithServer } from './trainer-with-server.ts';

/** People with an adapter each, of whom a few have a batch at the same time. */
const ADAPTERS = 200;
const PARALLEL = 8;

// A model per step, and one more while its base is read.
const place = trainerWithServer(['--most-models', String(2 * PARALLEL)]);

test('two hundred adapters are trained side by side by one trainer, each once', async () => {
  const adapters = Array.from({ length: ADAPTERS }, (_, index) => `person-${index}`);
  const { start, submit, settled, events } = place.folder;
  start([
    ...onServer(place.server),
    '--adapters',
    adapters.join(','),
    '--training-parallel',
    String(PARALLEL),
  ]);
  for (const adapter of adapters) await submit(1, { adapter, settings: serverSettings });
  for (const adapter of adapters) expect(await settled(1, adapter)).toMatchObject({ head: 1 });
  const trained = events().flatMap((event) => (event.type === 'policy.trained' ? [event.subject] : []));
  expect(new Set(trained).size).toBe(ADAPTERS);
  expect(trained).toHaveLength(ADAPTERS);
  const { models, states } = await place.server.state();
  expect(models).toEqual([]);
  expect(states.filter((path) => path.includes('/weights/'))).toHaveLength(ADAPTERS);
});
