import { expect } from 'vitest';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { until } from './harness/clawloop.ts';
import type { ServerProcess } from './server-process.ts';
import { endedOnce, endings } from './trainer-endings.ts';
import type { TrainerFolder } from './trainer-process.ts';

export const onServer = (server: ServerProcess): readonly string[] => [
  ...['--training-engine', 'tinker'],
  ...['--training-url', server.url()],
  ...['--training-model', 'tiny'],
];

/** Settings that every server can follow. */
export const serverSettings: Partial<TrainingSettings> = {
  method: 'binary',
  distillation: 'sampled',
  alpha: 32,
  rank: 4,
  rehearsal: 0,
  learningRate: 1e-4,
  epsilon: 1e-8,
  beta1: 0.9,
  epochs: 1,
  gateMeanKl: 100,
  gateBaseKl: 100,
};

type Processes = { readonly folder: TrainerFolder; readonly server: ServerProcess };
type Plan = {
  readonly batches: number;
  /** in all, about half of them of the server */
  readonly kills: number;
  readonly seed: string;
};

/** Requests of a step's models, from the first to the download. */
const REQUESTS = 8;

/**
 * Kills trainer and server in turn, each when the models of a step have had a random number of requests. In the end
 * every batch has become one version, whose optimizer has taken one more step than its parent's, and the server holds no
 * model, and no state but those of the versions.
 */
export async function killsOnServer(
  { folder, server }: Processes,
  { batches, kills, seed }: Plan,
): Promise<void> {
  const { start, submit, settled, head, events, checkpoints } = folder;
  const random = createRandom(seed);
  const flags = [...onServer(server), '--max-strikes', '1000', '--keep', '1000'];
  const settings = { ...serverSettings, epochs: 3 };
  for (let n = 1; n <= batches; n++) {
    let trainer = start(flags);
    await submit(n, { settings });
    for (let kill = 0; kill < kills / batches && head().open !== null; kill++) {
      const after = Math.floor(random() * REQUESTS);
      await until(`a model has had ${after} requests`, async () => {
        const { models } = await server.state();
        return head().open === null || models.some(({ requests }) => requests >= after);
      });
      if (random() < 0.5) {
        await trainer.end('SIGKILL');
        trainer = start(flags);
      } else {
        await server.kill();
        await server.start();
      }
    }
    expect(await settled(n)).toMatchObject({ head: n });
    expect(endings(events(), n)).toEqual(endedOnce(n));
    await trainer.end('SIGTERM');
  }
  const kept = await openCheckpointStore(checkpoints).list();
  const steps = kept.map(({ state }) => state.optimizerStep);
  expect(steps).toEqual(Array.from({ length: batches }, (_, index) => 3 * (index + 1)));
  const { states } = await server.state();
  const needed = kept.map(({ state }) => state.optimizer!.path);
  expect(states).toEqual(expect.arrayContaining(needed));
}
