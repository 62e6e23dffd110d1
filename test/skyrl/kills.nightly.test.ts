import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { readAdapter } from '../../shared/policy/checkpoints/adapter-files.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { endedOnce, endings } from '../e2e/trainer-endings.ts';
import { openTrainerFolder, type TrainerFolder } from '../e2e/trainer-process.ts';
import { describeWithSkyrl, skyrlForSuite, worst } from './skyrl-for-suite.ts';

// CLAWLOOP_SKYRL_KILLS=100 npm run test:nightly -- test/skyrl/kills.nightly.test.ts
// The trainer and SkyRL are killed at random moments of steps. A kill of SkyRL costs a start of Python. The last kills
// are of the trainer: a kill of SkyRL unloads every model, so it would hide those that a killed trainer has left.

const KILLS = Number(process.env.CLAWLOOP_SKYRL_KILLS ?? 20);
/** one kill in so many is SkyRL's, from the first on */
const SERVER_EVERY = 5;
const KILLS_PER_BATCH = 4;
const ADAPTERS = 4;
const MINUTES = 60_000;

const settings: Partial<TrainingSettings> = {
  method: 'binary',
  alpha: 32,
  rank: 8,
  minibatches: 2,
  epochs: 1,
  rehearsal: 0,
  gateMeanKl: 100,
  gateBaseKl: 100,
  learningRate: 1e-4,
  epsilon: 1e-2,
};
/** optimizer steps of a batch */
const STEPS = 2;

describeWithSkyrl(`${KILLS} kills of the trainer and of SkyRL`, () => {
  /** models of killed trainers that SkyRL has unloaded when their sessions had no heartbeat for long enough */
  const orphans = new Set<string>();
  const on = skyrlForSuite(CLAW_NANO, {
    adapters: ADAPTERS,
    sessionTimeoutSeconds: 20,
    onLine: (line) => {
      const [, model] = /Auto-unloaded stale model (\S+)/.exec(line) ?? [];
      if (model !== undefined) orphans.add(model);
    },
  });

  const open = async () => {
    const folder = await openTrainerFolder(on.model);
    onTestFinished(folder.dispose);
    const engine = ['--training-engine', 'tinker', '--training-url', on.server.url];
    const start = () => folder.start([...engine, '--training-model', on.model, '--max-strikes', '1000']);
    return { folder, start };
  };
  /** Old versions and the states of killed attempts go after the outcome, so a trainer has to run. */
  const tidied = (...folders: readonly TrainerFolder[]) =>
    until(
      'the server has the states of the kept versions, and no others',
      async () => {
        const kept = await Promise.all(folders.map(keptOf)).catch(() => undefined); // one is being removed
        const needed = kept?.flat().map(({ path }) => path);
        return isDeepStrictEqual((await statesIn(on.server.checkpoints)).toSorted(), needed?.toSorted());
      },
      5 * MINUTES,
    );

  test('every batch is trained once, as without kills, and no model stays on the server', async () => {
    const batches = Math.ceil(KILLS / KILLS_PER_BATCH);
    const random = createRandom('moments of death on a server');
    const disturbed = await open();
    let [kills, ofServer, stepMs] = [0, 0, 3_000];
    const log = (line: string) => console.log(`kills [${kills} of ${KILLS}, ${ofServer} of SkyRL] ${line}`);
    for (let n = 1; n <= batches; n++) {
      await disturbed.folder.submit(n, { settings, length: 20 });
      for (let kill = 0; kill < KILLS_PER_BATCH && kills < KILLS; kill++) {
        const trainer = disturbed.start();
        const isOver = () => disturbed.folder.head().open === null;
        await until(
          'it trains',
          () => /"msg":"training started"/.test(trainer.output()) || isOver(),
          10 * MINUTES,
        );
        const started = performance.now();
        const moment = random() * 1.2 * stepMs;
        await until(
          'the moment comes',
          () => performance.now() - started >= moment || isOver(),
          10 * MINUTES,
        );
        kills += 1;
        if (kills % SERVER_EVERY === 1) {
          ofServer += 1;
          await on.server.kill(random() < 0.5 ? 'engine' : 'all');
          log(`SkyRL is killed ${Math.round(moment)} ms into batch ${n}`);
          await on.server.start();
          if (random() < 0.5) await trainer.end('SIGKILL');
          else await trainer.end('SIGTERM');
        } else {
          await trainer.end('SIGKILL');
          log(`the trainer is killed ${Math.round(moment)} ms into batch ${n}`);
        }
      }
      const last = disturbed.start();
      const started = performance.now();
      await until('the batch ends', () => disturbed.folder.head().open === null, 15 * MINUTES);
      if (/"msg":"training started"/.test(last.output()))
        stepMs = Math.min(stepMs * 2, performance.now() - started);
      if (n === batches) await tidied(disturbed.folder);
      await last.end('SIGTERM');
      expect(endings(disturbed.folder.events(), n)).toEqual(endedOnce(n));
    }

    const undisturbed = await open();
    const trainer = undisturbed.start();
    for (let n = 1; n <= batches; n++) {
      await undisturbed.folder.submit(n, { settings, length: 20 });
      await until(`batch ${n} ends`, () => undisturbed.folder.head().open === null, 15 * MINUTES);
    }
    await tidied(disturbed.folder, undisturbed.folder);
    await trainer.end('SIGTERM');
    const [killed, calm] = [await keptOf(disturbed.folder), await keptOf(undisturbed.folder)];
    expect(killed.map(({ optimizerStep }) => optimizerStep)).toEqual(
      calm.map(({ version }) => version * STEPS),
    );
    let most = 0;
    for (const [index, { version, folder }] of killed.entries()) {
      const [mine, its] = [await readAdapter(folder), await readAdapter(calm[index]!.folder)];
      const rows = ({ tensors }: typeof mine) =>
        [...its.tensors.keys()].map((name) => tensors.get(name)!.values);
      const apart = worst(rows(mine), rows(its));
      most = Math.max(most, apart);
      log(`the weights of version ${version} differ by ${apart} from those without kills`);
    }
    // a gradient that is applied twice or lost moves a weight by up to the rate, 1e-4
    expect(most).toBeLessThan(1e-7);

    // all slots are free again
    await until(
      'no model is left on the server',
      async () => {
        const session = await on.open().openSession({ test: 'slots' }, new AbortController().signal);
        try {
          for (let seed = 0; seed < ADAPTERS; seed++) await session.createModel({ rank: 8, seed });
          return true;
        } catch {
          return false;
        } finally {
          await session.close();
        }
      },
      5 * MINUTES,
    );
    log(`${orphans.size} models of killed trainers were unloaded by SkyRL, and none is left`);
    expect(orphans.size).toBeGreaterThan(0);
  });
});

type Kept = {
  readonly version: number;
  readonly folder: string;
  readonly optimizerStep: number;
  readonly path: string;
};

/** The committed checkpoints, in order. */
async function keptOf({ checkpoints }: TrainerFolder): Promise<readonly Kept[]> {
  const names = (await readdir(checkpoints)).filter((name) => /^\d+-[0-9a-f]+$/.test(name));
  const kept = names.map(async (name) => {
    const folder = join(checkpoints, name);
    const state = JSON.parse(await readFile(join(folder, 'state.json'), 'utf8'));
    return {
      version: state.version,
      folder,
      optimizerStep: state.optimizerStep,
      path: state.optimizer.path,
    };
  });
  return (await Promise.all(kept)).sort((a, b) => a.version - b.version);
}

/** The states on the server's disk, as paths of its API. */
async function statesIn(folder: string): Promise<readonly string[]> {
  const models = await readdir(folder);
  const states = models.map(async (model) =>
    (await readdir(join(folder, model)))
      .filter((name) => name.endsWith('.tar.gz'))
      .map((name) => `tinker://${model}/weights/${name.replace('.tar.gz', '')}`),
  );
  return (await Promise.all(states)).flat();
}
