import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { startCrowd } from '../chaos/services/crowd.ts';
import { logOf, startDeployment, whyNoBrokers } from '../chaos/services/deployment.ts';
import { createInjector } from '../chaos/services/inject.ts';
import { startJudgeModel } from '../chaos/services/judge-model.ts';
import { watchLog } from '../chaos/services/log-watch.ts';
import type { Mode, Target } from '../chaos/services/plan.ts';
import { until } from '../e2e/harness/clawloop.ts';

export type RecoveryRow = {
  readonly killed: Writer;
  /** ms, median and worst; null: this mode has no such process */
  readonly embedded: readonly [number, number] | null;
  readonly brokers: readonly [number, number] | null;
};

/** The console writes nothing. */
type Writer = Exclude<Target, 'console'>;

/** A target works again when a fact of these types arrives. */
const workOf: Readonly<Record<Writer, readonly ClawLoopEvent['type'][]>> = {
  serving: ['interaction.completed'],
  collector: ['turn.completed', 'turn.skipped'],
  judge: ['vote.cast'],
  trainer: ['policy.trained'],
  kafka: ['interaction.completed'],
  redis: ['vote.cast'],
};
const ROUNDS = 3;
/** ms in which all earlier facts of the log have arrived, while no process is up again yet */
const ECHO_MS = 100;
const PEOPLE = 4;

/**
 * Time from a SIGKILL until the log has the first new fact of the target, while people chat; the target restarts at
 * once. For the trainer the time includes the repeated step.
 */
export async function benchRecovery(): Promise<readonly RecoveryRow[]> {
  const embedded = await recover('embedded', ['serving', 'collector', 'judge', 'trainer']);
  const missing = whyNoBrokers();
  if (missing !== undefined) console.log(`without Kafka and Redis: ${missing}`);
  const all: readonly Writer[] = ['serving', 'collector', 'judge', 'trainer', 'kafka', 'redis'];
  const brokers = missing === undefined ? await recover('brokers', all) : new Map<Writer, number[]>();
  const rows = all.map((killed) => ({
    killed,
    embedded: figures(embedded.get(killed)),
    brokers: figures(brokers.get(killed)),
  }));
  const show = (pair: RecoveryRow['embedded']) => (pair === null ? '' : `${pair[0]} (worst ${pair[1]})`);
  console.table(
    rows.map((row) => ({
      'SIGKILL of': row.killed,
      'embedded, ms': show(row.embedded),
      'Kafka and Redis, ms': show(row.brokers),
    })),
  );
  return rows;
}

async function recover(mode: Mode, targets: readonly Writer[]): Promise<ReadonlyMap<Writer, number[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-recovery-'));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const judge = await startJudgeModel(1);
    closing.push(judge.close);
    const deployment = await startDeployment({
      mode,
      folder,
      judgeUrl: judge.baseUrl,
      hasSmallDisk: false,
      replicas: 1,
    });
    closing.push(deployment.close);
    const log = await logOf(deployment);
    closing.push(log.close);
    const watch = watchLog(log);
    closing.push(watch.close);
    const crowd = startCrowd({ url: deployment.url, seed: 1, people: PEOPLE });
    closing.push(crowd.stop);
    await until('a version was trained', () => watch.ledger.promoted().length > 0);
    const injector = createInjector(deployment);
    const took = new Map<Writer, number[]>();
    for (let round = 0; round < ROUNDS; round += 1)
      for (const target of targets) {
        const from = performance.now();
        const over = injector.inject({ kind: 'kill', target, replica: 0, downMs: 0 });
        await delay(ECHO_MS);
        await watch.next(workOf[target]);
        took.set(target, [...(took.get(target) ?? []), performance.now() - from]);
        await over;
        await delay(2_000); // waits until the accumulated work is done
      }
    return took;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

function figures(took: readonly number[] | undefined): readonly [number, number] | null {
  if (took === undefined) return null;
  const sorted = took.map(Math.round).sort((a, b) => a - b);
  return [sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!];
}
