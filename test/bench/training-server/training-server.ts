import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { SKYRL_VERSION, whyNoSkyrl } from '../../../infra/skyrl/install.ts';
import { startSkyrl } from '../../../infra/skyrl/start-skyrl.ts';
import { writeF32Model } from '../../../infra/skyrl/write-f32-model.ts';
import { nativeInstalled } from '../../../shared/policy/executors/native.ts';
import { CLAW_NANO, modelFolder } from '../../../shared/policy/model/model-folder.ts';
import type { ServerSequence } from '../../../shared/tinker/training-server.ts';
import { writeTables } from '../write-tables.ts';
import { clientWay, localWay, officialWay, type Task, type Way } from './ways.ts';

const BATCH = 8;
const [PROMPT, RESPONSE] = [96, 32];
/** one round warms up, and the rest count */
const ROUNDS = 6;
const STEPS_PER_ROUND = 3;

const sequences: readonly ServerSequence[] = Array.from({ length: BATCH }, (_, n) => ({
  promptIds: Array.from({ length: PROMPT }, (__, t) => 5 + ((n * 131 + t * 7919) % 990)),
  responseIds: Array.from({ length: RESPONSE }, (__, t) => 5 + ((n * 17 + t * 6151) % 990)),
}));
const tokens = BATCH * (PROMPT + RESPONSE);

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

type Row = {
  readonly way: string;
  readonly stepMs: number;
  readonly engineMs: number | undefined;
  readonly openMs: number;
  readonly closeMs: number;
  readonly gradientNorm: number;
};

/** s of the engine's own work, by its log */
function engineSeconds(log: string): number {
  const pattern =
    /\(timing\) process_(?:batch_requests|single_request)\((?:forward|optim)[^)]*\) took ([\d.]+)s/g;
  return [...log.matchAll(pattern)].reduce((sum, [, seconds]) => sum + Number(seconds), 0);
}

/**
 * The same steps by the local engine, by this repository's client on SkyRL and by the official Python client on
 * SkyRL, in turn on one machine. Writes their table into docs/understand/benchmarks.md. Needs `npm run setup:skyrl`.
 */
export async function benchTrainingServer(): Promise<void> {
  const missing = whyNoSkyrl();
  if (missing !== null) return console.log(missing);
  const root = await mkdtemp(join(tmpdir(), 'clawloop-bench-training-server-'));
  const load = loadavg()[0]!;
  let lines: string[] = [];
  try {
    const model = join(root, 'model');
    await writeF32Model(modelFolder(CLAW_NANO), model);
    console.log('SkyRL loads the model ...');
    const onLine = (line: string) => void lines.push(line);
    const server = await startSkyrl({ model, folder: join(root, 'server'), adapters: 2, onLine });
    try {
      const task: Task = { model, url: server.url, rank: 8, learningRate: 1e-3, sequences };
      const ways: Way[] = [await localWay('wasm', task)];
      if (nativeInstalled()) ways.push(await localWay('native', task));
      ways.push(await clientWay(task), await officialWay(task));
      const rows = await measure(ways, () => {
        const seconds = engineSeconds(lines.join('\n'));
        lines = [];
        return seconds;
      });
      console.table(rows);
      await writeTables('training server', tableOf(rows, [load, loadavg()[0]!]));
    } finally {
      await server.stop();
    }
  } finally {
    await rm(root, { recursive: true });
  }
}

async function measure(ways: readonly Way[], engineSince: () => number): Promise<readonly Row[]> {
  const times = new Map(ways.map((way) => [way, { ms: [] as number[], engine: [] as number[], norm: 0 }]));
  for (let round = 0; round < ROUNDS; round++) {
    console.log(
      `round ${round + 1} of ${ROUNDS}${round === 0 ? ': warm-up, compiles' : ''} (load ${loadavg()[0]!.toFixed(1)})`,
    );
    for (const way of ways) {
      engineSince();
      const { ms, gradientNorm } = await way.steps(STEPS_PER_ROUND);
      const engine = (1000 * engineSince()) / STEPS_PER_ROUND;
      const kept = times.get(way)!;
      kept.norm = gradientNorm;
      if (round === 0) continue;
      kept.ms.push(...ms);
      kept.engine.push(engine);
    }
  }
  const rows: Row[] = [];
  for (const [way, { ms, engine, norm }] of times)
    rows.push({
      way: way.name,
      stepMs: median(ms),
      engineMs: way.isRemote ? median(engine) : undefined,
      openMs: way.openMs,
      closeMs: await way.close(),
      gradientNorm: norm,
    });
  return rows;
}

const whole = (ms: number): string => Math.round(ms).toLocaleString('en-US');

function tableOf(rows: readonly Row[], [before, after]: readonly [number, number]): string {
  const processors = cpus();
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line([
      'way',
      'ms per step',
      'of these in the engine',
      'around it',
      'tok/s',
      'open, ms',
      'save and download, ms',
    ]),
    '|---|---|---|---|---|---|---|',
    ...rows.map(({ way, stepMs, engineMs, openMs, closeMs }) =>
      line([
        way,
        whole(stepMs),
        engineMs === undefined ? '' : whole(engineMs),
        engineMs === undefined ? '' : whole(stepMs - engineMs),
        whole((1000 * tokens) / stepMs),
        whole(openMs),
        closeMs === 0 ? '' : whole(closeMs),
      ]),
    ),
    '',
    `${BATCH} sequences of ${PROMPT} + ${RESPONSE} tokens, claw-nano in f32, rank 8, medians of ${(ROUNDS - 1) * STEPS_PER_ROUND} steps in turn; SkyRL ${SKYRL_VERSION} on JAX. ${processors.length} x ${processors[0]?.model.trim()}, Node ${process.versions.node}; load of the machine ${before.toFixed(1)} before, ${after.toFixed(1)} after.`,
  ].join('\n');
}

if (import.meta.main) await benchTrainingServer();
