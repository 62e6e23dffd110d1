import { expect } from 'vitest';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { SESSION_TIMEOUT_MS } from '../tinker-fakes/fake-sessions.ts';
import { until } from './harness/clawloop.ts';
import { endedOnce, endings } from './trainer-endings.ts';
import { onServer, serverSettings, type TrainerWithServer } from './trainer-with-server.ts';

type Plan = {
  /** in all, about half of them of the server */
  readonly kills: number;
  /** the most during one batch; a batch may end before */
  readonly perBatch: number;
  readonly seed: string;
};

/** Requests of a step's models, from the first to the download. */
const REQUESTS = 8;
/** Models of killed trainers beside those of the next attempt; the server has room for eight models. */
const MOST_ORPHANS = 4;

/**
 * Kills trainer and server in turn, each when the models of a step have had a random number of requests. In the end
 * every batch has become one version, whose optimizer has taken one more step than its parent's, and the server holds no
 * model, and no state but those of the versions.
 *
 * @returns how many models killed trainers have left on the server, which has unloaded them since
 */
export async function killsOnServer(
  { folder, server }: TrainerWithServer,
  { kills, perBatch, seed }: Plan,
): Promise<{ readonly ofTrainer: number; readonly ofServer: number; readonly orphans: number }> {
  const { start, submit, settled, head, events, checkpoints } = folder;
  const random = createRandom(seed);
  const flags = [...onServer(server), '--max-strikes', '1000', '--keep', '1000'];
  const settings = { ...serverSettings, epochs: 3 };
  const orphans = new Set<string>();
  let [ofTrainer, ofServer] = [0, 0];
  const models = async () => (await server.state()).models;
  /** Only where no trainer runs: all sessions are without a heartbeat. */
  const expire = async () => {
    await server.elapse(SESSION_TIMEOUT_MS + 1);
    expect(await models()).toEqual([]);
  };
  let n = 0;
  while (ofTrainer + ofServer < kills) {
    n += 1;
    let trainer = start(flags);
    await submit(n, { settings });
    for (let kill = 0; kill < perBatch && ofTrainer + ofServer < kills; kill++) {
      const after = Math.floor(random() * REQUESTS);
      await until(`a model has had ${after} requests`, async () => {
        const ofStep = (await models()).filter(({ id }) => !orphans.has(id));
        return head().open === null || ofStep.some(({ requests }) => requests >= after);
      });
      if (head().open === null) break;
      if (random() < 0.5) {
        ofTrainer += 1;
        await trainer.end('SIGKILL');
        const left = await models();
        for (const { id } of left) orphans.add(id);
        if (left.length > MOST_ORPHANS || random() < 0.5) await expire();
        trainer = start(flags);
      } else {
        ofServer += 1;
        await server.kill();
        await server.start();
      }
    }
    expect(await settled(n)).toMatchObject({ head: n });
    expect(endings(events(), n)).toEqual(endedOnce(n));
    await trainer.end('SIGTERM');
    // a trainer that ends gently leaves no model
    expect((await models()).filter(({ id }) => !orphans.has(id))).toEqual([]);
  }
  await expire();
  const states = async () => (await server.state()).states.filter((path) => path.includes('/weights/'));
  // removes what the server did not remove when it was killed
  const last = start(flags);
  await until('the states of killed attempts are gone', async () => (await states()).length === n);
  await last.end('SIGTERM');
  const kept = await openCheckpointStore(checkpoints).list();
  const steps = kept.map(({ state }) => state.optimizerStep);
  expect(steps).toEqual(Array.from({ length: n }, (_, index) => 3 * (index + 1)));
  expect(await states()).toEqual(kept.map(({ state }) => state.optimizer!.path).sort());
  return { ofTrainer, ofServer, orphans: orphans.size };
}
