import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { until } from './harness/clawloop.ts';
import { killsOnServer } from './trainer-server-kills.ts';
import { onServer, serverSettings, trainerWithServer } from './trainer-with-server.ts';

const place = trainerWithServer();

test('a replay covers no version bit for bit, and trains it again on its server on request', async () => {
  const { start, submit, settled, replay } = place.folder;
  const trainer = start(onServer(place.server));
  for (const n of [1, 2]) {
    await submit(n, { settings: serverSettings });
    await settled(n);
  }
  await trainer.end('SIGTERM');
  expect((await replay()).text).toMatch(/2 versions in the log, 0 replayed: .* 2 not covered/);
  const again = await replay(onServer(place.server));
  expect(again.text).toMatch(/2 versions in the log, 2 replayed: 0 same, 2 close, 0 different/);
  expect(again.code).toBe(0);
});

test('a spent budget is named, and the batch waits for a larger one', async () => {
  const { start, submit, settled, head } = place.folder;
  const poor = start([...onServer(place.server), '--training-budget', '100']);
  await submit(1, { settings: serverSettings });
  const url = await poor.url();
  const why = async () => {
    const text = await (await fetch(`${url}/readyz`)).text();
    return /waiting for the training server.*Raise --training-budget/.test(text);
  };
  await until('the ready page says why', why);
  expect(head().open).not.toBeNull();
  await poor.end('SIGTERM');
  start([...onServer(place.server), '--training-budget', '1000000']);
  expect(await settled(1)).toMatchObject({ head: 1 });
});

test('settings that no server can follow are refused at start', async () => {
  const refused = async (flags: readonly string[], message: RegExp) => {
    const trainer = place.folder.start(flags);
    await until('it ended', () => trainer.child.exitCode !== null);
    expect(trainer.child.exitCode).toBe(2);
    expect(trainer.output()).toMatch(message);
  };
  await refused(
    [...onServer(place.server), '--training', 'full'],
    /--training full needs --training-engine local/,
  );
  await refused(['--training-engine', 'tinker'], /needs --training-url/);
  await refused([...onServer(place.server), '--training-model', 'other'], /does not train other/);
  await refused([...onServer(place.server), '--training-dialect', 'tinker'], /needs --training-api-key/);
});

test('the state of the parent is lost: the batch waits until it is back, without a strike', async () => {
  const { start, submit, settled, checkpoints } = place.folder;
  const first = start(onServer(place.server));
  await submit(1, { settings: serverSettings });
  await settled(1);
  await first.end('SIGTERM');
  const [version] = await openCheckpointStore(checkpoints).list();
  const path = join(checkpoints, version!.name, 'state.json');
  const { optimizer } = version!.state;
  const lost = { ...version!.state, optimizer: { ...optimizer!, path: 'tinker://none/weights/none' } };
  await writeFile(path, JSON.stringify(lost));
  const second = start([...onServer(place.server), '--max-strikes', '1']);
  await submit(2, { settings: serverSettings });
  const url = await second.url();
  await until('the ready page says why', async () =>
    /waiting for the training server of default/.test(await (await fetch(`${url}/readyz`)).text()),
  );
  await writeFile(path, JSON.stringify(version!.state));
  expect(await settled(2)).toMatchObject({ head: 2 });
});

test('trainer and server are killed at random points of a step, over several batches', async () => {
  await killsOnServer(place, { kills: 8, perBatch: 4, seed: 'several' });
});
