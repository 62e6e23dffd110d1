import { expect, test } from 'vitest';
import { killsOnServer } from './trainer-server-kills.ts';
import { trainerWithServer } from './trainer-with-server.ts';

const place = trainerWithServer();

test('trainer and server are killed at random points of a step, a hundred times', async () => {
  const { ofTrainer, ofServer, orphans } = await killsOnServer(place, {
    kills: 100,
    perBatch: 10,
    seed: 'a hundred',
  });
  console.log(`${ofTrainer} kills of the trainer left ${orphans} models; ${ofServer} kills of the server`);
  expect(orphans).toBeGreaterThan(0);
});
