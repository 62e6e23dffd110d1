import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../../shared/config/common.ts';
import { LogConfig } from '../../shared/config/log.ts';
import { sum } from '../../shared/lang/numbers.ts';
import { dataFolder as foldersIn } from '../../shared/runtime/data-folder.ts';
import type { openLog } from '../../shared/runtime/open-log.ts';
import { closeAll } from '../chaos/services/close-all.ts';
import { compare } from '../chaos/services/compare.ts';
import { unexcused } from '../chaos/services/crowd-record.ts';
import { createInjector } from '../chaos/services/inject.ts';
import { startJudgeModel } from '../chaos/services/judge-model.ts';
import { watchLog } from '../chaos/services/log-watch.ts';
import { makeNextRelease } from '../e2e/replicas/next-release.ts';
import { createActing } from './acting.ts';
import { startPeople } from './crowd.ts';
import { backupsIn, deploy, type LongRunDeployment } from './deployment.ts';
import { measureHours } from './measure.ts';
import { planRun } from './plan.ts';
import { clockEnvironment } from './simulated-time.ts';
import { type LongRunReport, violationsOf } from './verdict.ts';

type Options = {
  readonly seed: number;
  readonly hours: number;
  readonly rate: number;
  readonly people: number;
  readonly print: (line: string) => void;
};

const HOUR_MS = 3_600_000;
/** ms; the judge's model answers at once, since its time is real */
const JUDGE_MS = 20;
/** Simulated: until the last sessions are idle and their samples have waited, with room for a slow machine. */
const SETTLE_HOURS = 24;
const LEAST_SETTLE_MS = 600_000;

/** Days of a deployment on a fast clock, from its first chat to the check of its log and of its last backup. */
export async function runLong(options: Options): Promise<LongRunReport> {
  const { seed, hours, rate, people, print } = options;
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const judge = await startJudgeModel(seed, JUDGE_MS);
    closing.push(judge.close);
    const next = await makeNextRelease();
    closing.push(next.remove);
    const environment = clockEnvironment({ since: Date.now(), rate });
    const deployment = await deploy({ people, judgeUrl: judge.baseUrl, environment });
    closing.push(deployment.close);
    const log = await openWith(next.root, deployment.dataFolder);
    closing.push(log.close);
    const watch = watchLog(log);
    closing.push(watch.close);

    const began = performance.now();
    const hourMs = HOUR_MS / rate;
    const untilHour = (hour: number, signal?: AbortSignal) =>
      delay(Math.max(0, began + hour * hourMs - performance.now()), undefined, { signal }).catch(
        () => undefined,
      );
    const crowd = startPeople({ url: deployment.url, seed, hours, keys: deployment.keys, untilHour, hourMs });
    closing.push(crowd.stop);
    const given = () => crowd.record().given;
    const measuring = measureHours({ deployment, hours, untilHour, print, given });
    measuring.catch(() => undefined); // awaited below
    const injector = createInjector(deployment);
    const acting = createActing({ deployment, injector, release: next.root, print });
    for (const { at, act } of planRun({ seed, hours, canFillDisk: deployment.disk !== undefined })) {
      await untilHour(at);
      await acting.carryOut(act, at);
    }
    await injector.recovered();
    const record = await crowd.done();
    const readings = await measuring;
    print('  the people have finished; waiting until nothing is owed');
    await watch.settle(Math.max(LEAST_SETTLE_MS, SETTLE_HOURS * hourMs));
    const ends = await deployment.stopServices();
    const failed = unexcused(record.failures, injector.outages);
    const report: LongRunReport = {
      ...compare(record, watch.ledger),
      hours,
      people,
      readings,
      answers: record.given.length,
      excused: record.failures.length - failed.length,
      failed,
      unanswered: record.unanswered,
      acts: acting.counts,
      refused: acting.refused,
      crashes: deployment.services.flatMap(({ crashes }) => crashes),
      ends,
      ...(await audits(deployment)),
      versions: watch.ledger.promoted().length,
      trimmed: sum([...(await log.starts('conversations')), ...(await log.starts('turns'))]),
      seconds: Math.round((performance.now() - began) / 1000),
    };
    if (violationsOf(report).length === 0) deployment.discard();
    return report;
  } finally {
    await closeAll(closing);
  }
}

/** The log through the newer program, which reads the records of both releases. */
async function openWith(root: string, dataFolder: string) {
  const program = (await import(join(root, 'shared/runtime/open-log.ts'))) as {
    readonly openLog: typeof openLog;
  };
  return program.openLog(loadConfig('cli', LogConfig, []).values, foldersIn(dataFolder));
}

/** `balances` if the command succeeds, otherwise its output. */
async function audits({ command, folder, dataFolder }: LongRunDeployment) {
  const verdictOf = async (...argv: readonly string[]) => {
    const { code, stdout, stderr } = await command(...argv);
    return code === 0 && /^balances$/m.test(stdout) ? 'balances' : `${stdout}${stderr}`;
  };
  return {
    audit: await verdictOf('audit', '--data-folder', dataFolder),
    restored: await verdictOf('restore', backupsIn(folder), '--data-folder', join(folder, 'restored')),
  };
}
