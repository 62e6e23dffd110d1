import { expect, test } from 'vitest';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { endedOnce, endings } from './trainer-endings.ts';
import { killsOnServer } from './trainer-server-kills.ts';
import { onServer, serverSettings, trainerWithServer } from './trainer-with-server.ts';

const place = trainerWithServer();

test('versions are trained on a server, each from the state of its parent', async () => {
  const { start, submit, settled, events, checkpoints } = place.folder;
  const trainer = start(onServer(place.server));
  for (const n of [1, 2]) {
    await submit(n, { settings: serverSettings });
    expect(await settled(n)).toMatchObject({ head: n });
    expect(endings(events(), n)).toEqual(endedOnce(n));
  }
  const kept = (await openCheckpointStore(checkpoints).list()).map(({ state }) => state);
  expect(kept.map(({ optimizerStep }) => optimizerStep)).toEqual([1, 2]);
  const states = kept.map(({ optimizer }) => optimizer?.path);
  expect((await place.server.state()).states).toEqual(expect.arrayContaining(states));
  expect(kept[1]!.metrics).toMatchObject({
    meanKlSampled: expect.any(Number),
    gradientNorm: expect.any(Number),
    serverTokensTrained: expect.any(Number),
  });
  const metrics = await (await fetch(`${await trainer.url()}/metrics`)).text();
  expect(metrics).toMatch(/clawloop_trainer_server_tokens\{[^}]*kind="trained"[^}]*\} [1-9]/);
  expect(await trainer.end('SIGTERM')).toBe(0);
  expect((await place.server.state()).models).toEqual([]);
});

test('trainer and server are killed at random points of a step: every batch ends once', async () => {
  await killsOnServer(place, { kills: 4, perBatch: 4, seed: 'a handful' });
});
