import { expect, test } from 'vitest';
import { z } from 'zod';
import { meanWait } from '../../infra/docs/training-server-estimates.ts';
import { parseJson } from '../../shared/lang/json.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { until } from './harness/clawloop.ts';
import { onServer, serverSettings, trainerWithServer } from './trainer-with-server.ts';

// npm run test:nightly -- test/e2e/many-adapters.nightly.test.ts
// Prints the measured figures of docs/operate/gpu.md, "A thousand people".

/** Many people with one adapter each; a few have a batch at the same time. */
const ADAPTERS = 200;
const PARALLEL = 8;
/** of the server, while batches come one by one */
const LOAD = 0.6;
/** steps while nothing else runs */
const ALONE = 5;

// One model for each step, and one more while its base is read.
const place = trainerWithServer(['--most-models', String(2 * PARALLEL)]);

test('two hundred adapters are trained side by side by one trainer, each once', async () => {
  const adapters = Array.from({ length: ADAPTERS }, (_, index) => `person-${index}`);
  const [early, late] = [adapters.slice(0, ADAPTERS / 2), adapters.slice(ADAPTERS / 2)];
  const { start, submit, settled, events } = place.folder;
  const parallel = ['--training-parallel', String(PARALLEL)];
  const trainer = start([...onServer(place.server), '--adapters', adapters.join(','), ...parallel]);
  await until('the trainer is ready', async () => (await fetch(`${await trainer.url()}/readyz`)).ok);

  /** Submits a batch of each adapter after its gap and waits for all. Times in s. */
  const wave = async (n: number, of: readonly string[], gap: () => number) => {
    const before = await place.server.state();
    const began = Date.now();
    const submitted = new Map<string, number>();
    let due = began;
    for (const adapter of of) {
      due += 1000 * gap();
      await until('its batch comes', () => Date.now() >= due);
      submitted.set(`${adapter}/batch/${n}`, Date.now());
      await submit(n, { adapter, settings: serverSettings });
    }
    for (const adapter of of) expect(await settled(n, adapter)).toMatchObject({ head: n });
    const steps = await until('the trainer has logged the end of each', () => {
      const found = stepsIn(trainer.output()).filter(({ batch }) => submitted.has(batch));
      return found.length === of.length && found;
    });
    const after = await place.server.state();
    const seconds = (Math.max(...steps.map(({ ended }) => ended)) - began) / 1000;
    return {
      steps: of.length,
      seconds,
      secondsPerStep: seconds / of.length,
      meanQueue: mean(steps.map(({ batch, started }) => started - submitted.get(batch)!)) / 1000,
      meanStep: mean(steps.map(({ started, ended }) => ended - started)) / 1000,
      computedQueue: waitOfBurst(of.length, seconds / of.length),
      meanInAll: mean(steps.map(({ batch, ended }) => ended - submitted.get(batch)!)) / 1000,
      mostSideBySide: mostSideBySide(steps),
      meanSideBySide:
        (mean(steps.map(({ started, ended }) => ended - started)) * of.length) / (1000 * seconds),
      modelsCreated: after.modelsCreated - before.modelsCreated,
      statesLoaded: after.statesLoaded - before.statesLoaded,
    };
  };
  const atOnce = () => 0;
  const first = await wave(1, adapters, atOnce);
  const burst = await wave(2, early, atOnce);
  const random = createRandom('arrivals');
  const gap = burst.secondsPerStep / LOAD;
  const arrivals = await wave(2, late, () => -gap * Math.log(1 - random()));
  const alone = [];
  for (const adapter of early.slice(0, ALONE)) alone.push(await wave(3, [adapter], atOnce));
  const { secondsPerStep } = burst;
  const load = (arrivals.steps / arrivals.seconds) * secondsPerStep;
  const computedWait = meanWait(load / secondsPerStep, secondsPerStep);
  console.log(
    JSON.stringify(
      { first, burst, arrivals, load, computedWait, alone: mean(alone.map((step) => step.meanInAll)) },
      null,
      2,
    ),
  );

  const trained = events().flatMap((event) => (event.type === 'policy.trained' ? [event.id] : []));
  expect(new Set(trained).size).toBe(2 * ADAPTERS + ALONE);
  expect(trained).toHaveLength(2 * ADAPTERS + ALONE);
  expect(first.mostSideBySide).toBe(PARALLEL);
  expect([first, burst, arrivals].map(({ statesLoaded }) => statesLoaded)).toEqual([0, 100, 100]);
  const { models, states } = await place.server.state();
  expect(models).toEqual([]);
  expect(states.filter((path) => path.includes('/weights/'))).toHaveLength(2 * ADAPTERS + ALONE);
});

type Step = {
  readonly batch: string;
  /** ms */
  readonly started: number;
  readonly ended: number;
};

const LogLine = z.object({ msg: z.string(), time: z.iso.datetime(), batch: z.string() });

/** From the trainer's log. */
function stepsIn(output: string): readonly Step[] {
  const lines = output.split('\n').flatMap((line) => LogLine.safeParse(parseJson(line)).data ?? []);
  const timesOf = (msg: string) =>
    new Map(
      lines.filter((line) => line.msg === msg).map(({ batch, time }) => [batch, Date.parse(time)] as const),
    );
  const started = timesOf('training started');
  return [...timesOf('batch finished')].map(([batch, ended]) => ({
    batch,
    started: started.get(batch)!,
    ended,
  }));
}

/** Mean wait in s of batches that come at once, until one of the places is free. */
const waitOfBurst = (batches: number, secondsPerStep: number): number =>
  (Math.max(0, batches - PARALLEL) ** 2 / (2 * batches)) * secondsPerStep;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const mostSideBySide = (steps: readonly Step[]): number =>
  Math.max(
    ...steps.map(
      ({ started: at }) => steps.filter(({ started, ended }) => started <= at && at < ended).length,
    ),
  );
