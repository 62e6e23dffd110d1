import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readAll } from '../../../shared/log/read-topic.ts';
import { clawloop, until } from '../../e2e/harness/clawloop.ts';
import { closeAll } from './close-all.ts';
import { type Comparison, compare } from './compare.ts';
import { startCrowd } from './crowd.ts';
import { type Failure, unexcused } from './crowd-record.ts';
import { type Deployment, logOf, startDeployment } from './deployment.ts';
import { type Exposure, openExposure } from './exposure.ts';
import { createInjector } from './inject.ts';
import { startJudgeModel } from './judge-model.ts';
import { createLedger } from './ledger.ts';
import { watchLog } from './log-watch.ts';
import { type Fault, type Mode, nameOf, planFaults } from './plan.ts';
import { canMount } from './small-disk.ts';
import { violations } from './verdict.ts';

export type Hit = {
  readonly fault: Fault;
  /** The work in flight just before it. */
  readonly exposure: Exposure;
};

export type SeedReport = Comparison & {
  readonly seed: number;
  readonly mode: Mode;
  /** Number of processes of the deployment; a power cut kills all. */
  readonly processes: number;
  readonly hits: readonly Hit[];
  readonly answers: number;
  /** Requests that failed because serving was killed; each was retried and answered. */
  readonly excused: number;
  /** Other failed requests. */
  readonly failed: readonly Failure[];
  readonly unanswered: readonly string[];
  readonly versions: number;
  /** Candidates on canary whose verdicts or time limit decided. */
  readonly canaries: number;
  /** The largest number of facts in the outbox at one time. */
  readonly outboxPeak: number;
  /** Services that ended although nothing killed them. */
  readonly crashes: readonly string[];
  /** How each service ended after SIGTERM. */
  readonly ends: readonly string[];
  readonly audit: string;
  readonly replay: string;
  readonly seconds: number;
};

export type SeedOptions = {
  readonly seed: number;
  readonly mode: Mode;
  readonly kills: number;
  /** Of collector and judge; default 1. */
  readonly replicas?: number;
  /** Each candidate first answers half of the sessions. */
  readonly hasCanaries?: boolean;
  readonly print: (line: string) => void;
};

const PEOPLE = 4;
/** Also on a slow machine; with fewer, the comparison means little. */
const LEAST_ANSWERS = 20;
const SETTLE_LIMIT_MS = 180_000;
/** A canary without verdicts takes a minute, and the open batches follow each other. */
const SETTLE_WITH_CANARIES_MS = 360_000;
/** It takes two minutes if the clock of the trainer that started it is ahead. */
const SETTLE_WITH_CLOCK_AHEAD_MS = 2 * SETTLE_WITH_CANARIES_MS;

/**
 * One deployment with injected faults, from its first chat to the check of its log. Everything random follows from the
 * seed.
 */
export async function runSeed(options: SeedOptions): Promise<SeedReport> {
  const { seed, mode, kills, replicas = 1, hasCanaries = false, print } = options;
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-chaos-'));
  let isClean = false;
  const removeFolder = async () => {
    if (isClean) await rm(folder, { recursive: true, force: true });
    else print(`  kept for a look: ${folder}`);
  };
  const closing: (() => Promise<unknown>)[] = [removeFolder];
  print(`seed ${seed}, ${mode}, ${kills} kills`);
  try {
    const judge = await startJudgeModel(seed);
    closing.push(judge.close);
    const hasSmallDisk = mode === 'embedded' && canMount();
    const plan = planFaults({ seed, mode, kills, canFillDisk: hasSmallDisk });
    const deployment = await startDeployment({
      mode,
      folder,
      judgeUrl: judge.baseUrl,
      hasSmallDisk,
      replicas,
      hasCanaries,
    });
    closing.push(deployment.close);
    const log = await logOf(deployment);
    closing.push(log.close);
    const watch = watchLog(log);
    closing.push(watch.close);
    const crowd = startCrowd({ url: deployment.url, seed, people: PEOPLE });
    closing.push(crowd.stop);
    const exposures = openExposure(deployment, crowd, watch);
    closing.push(exposures.close);
    const injector = createInjector(deployment);
    await until('the crowd has its first answers', () => crowd.record().given.length >= PEOPLE);

    const hits: Hit[] = [];
    for (const { afterMs, fault, isAimed, isAwaited } of plan) {
      await delay(afterMs);
      const isTargeted = fault.kind === 'kill' || fault.kind === 'stop';
      const exposure = await exposures.measure(isAimed && isTargeted ? fault.target : undefined);
      const over = injector.inject(fault);
      hits.push({ fault, exposure });
      const at = performance.now();
      const name = nameOf(fault);
      const reported = over.then(() =>
        print(`  ${name}: over after ${((performance.now() - at) / 1000).toFixed(1)} s`),
      );
      if (isAwaited) await reported;
      else reported.catch(() => undefined); // `recovered` reports it
    }
    await injector.recovered();
    await until('people were answered', () => crowd.record().given.length >= LEAST_ANSWERS, SETTLE_LIMIT_MS);
    const record = await crowd.stop();
    const isAhead = hits.some(
      ({ fault }) => fault.kind === 'clock' && fault.target === 'trainer' && fault.hours > 0,
    );
    const withCanaries = isAhead ? SETTLE_WITH_CLOCK_AHEAD_MS : SETTLE_WITH_CANARIES_MS;
    await watch.settle(hasCanaries ? withCanaries : SETTLE_LIMIT_MS);
    const ends = await deployment.stopServices();
    const crashes = deployment.services.flatMap((service) => service.crashes);

    const ledger = createLedger();
    await readAll(log, ({ event }) => ledger.on(event));
    const failed = unexcused(record.failures, injector.outages);
    const report: SeedReport = {
      ...compare(record, ledger),
      seed,
      mode,
      processes: [...deployment.services, deployment.kafka, deployment.redis].filter(Boolean).length,
      hits,
      answers: record.given.length,
      excused: record.failures.length - failed.length,
      failed,
      unanswered: record.unanswered,
      versions: ledger.promoted().length,
      canaries: ledger.canaries(),
      outboxPeak: exposures.outboxPeak(),
      crashes,
      ends,
      audit: await verdictOf(deployment, 'audit', 'balances'),
      replay: await verdictOf(deployment, 'replay', 'same digests'),
      seconds: Math.round((performance.now() - began) / 1000),
    };
    isClean = violations(report).length === 0;
    return report;
  } finally {
    await closeAll(closing);
  }
}

/** `word` if the command succeeds, otherwise its output. */
async function verdictOf({ dataFolder: folder, environment }: Deployment, command: string, word: string) {
  const { code, stdout, stderr } = await clawloop([command, '--data-folder', folder], environment);
  return code === 0 ? word : `${stdout}${stderr}`;
}
