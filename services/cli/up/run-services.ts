import { rm } from 'node:fs/promises';
import { aborted } from '../../../shared/lang/async.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { unmeasuredNote } from '../../../shared/policy/train/training-defaults.ts';
import { REFUSED_EXIT_CODE } from '../../../shared/runtime/refusal.ts';
import type { Caution } from '../../../shared/views/cautions.ts';
import { bucketFlags, commandFlags } from '../config.ts';
import { demoNote } from '../real-work.ts';
import { EXPORTER, type ProcessName, serviceNames } from '../service-entry.ts';
import { banner } from './banner.ts';
import { followStatus } from './follow-status.ts';
import { hideSecrets } from './hide-secrets.ts';
import { openLiveLine } from './live-line.ts';
import type { UpPlan } from './plan.ts';
import { waitUntilListening, waitUntilReady, withKeysOf } from './readiness.ts';
import { writeRunning } from './running.ts';
import { formatStatus } from './status.ts';
import { stepProgressOf } from './step-progress.ts';
import { type Supervised, type SupervisorEvents, supervise } from './supervisor.ts';

/** ms between two checks for new cautions */
const CAUTION_INTERVAL_MS = 5_000;

/** Runs all services until `stop` aborts or one of them refuses to run. Resolves to the exit code. */
export async function runServices(plan: UpPlan, log: EventLog, stop: AbortController): Promise<number> {
  const followed = await followStatus({
    log,
    snapshots: plan.data.snapshots,
    adapters: plan.common.adapters,
    signal: stop.signal,
  });
  const { status } = followed;
  let isReady = false;
  let exitCode = 0;
  const live = openLiveLine(process.stdout, () =>
    isReady ? formatStatus(status.status(), plan.batchSize) : '',
  );
  const fail = (reason: string, code = 1) => {
    live.print(reason);
    exitCode = code;
    stop.abort();
  };
  let hasConsole = plan.consoleUrl !== undefined;
  const supervised = startAll(plan, {
    runs: recordPids(plan, live.print),
    notice: (service, line) => live.print(`${service}: ${line}`),
    output: (service, line) => {
      const step = service === 'trainer' ? stepProgressOf(line) : undefined;
      if (step !== undefined) status.onStep(step);
    },
    refused: (service, reason) => {
      if (service === 'console') {
        hasConsole = false;
        live.print(`the console did not start; all other services run:\n${reason}`);
      } else fail(`${service} cannot continue:\n${reason}`, REFUSED_EXIT_CODE);
    },
  });
  const watched = watchCautions(followed.cautions, live.print);
  live.print(`starting; the services write their logs to ${plan.data.serviceLogs}`);
  waitUntilReady(plan.endpoint, stop.signal).then(
    async () => {
      const endpoint = await withKeysOf(plan.data.keys, plan.endpoint);
      if (plan.consoleUrl !== undefined) await waitUntilListening(plan.consoleUrl, stop.signal);
      if (stop.signal.aborted) return;
      isReady = true;
      // another program may answer at the console's port
      const consoleUrl = hasConsole ? plan.consoleUrl : undefined;
      live.print(banner(endpoint, plan.data.root, { ...plan.common, consoleUrl }));
      for (const note of notesAtStart(plan)) live.print(`note: ${note}`);
    },
    (error: Error) => fail(error.message),
  );

  await aborted(stop.signal);
  watched.stop();
  live.close();
  process.stdout.write('stopping ...\n');
  await Promise.all(supervised.map((service) => service.stop()));
  await followed.close();
  await log.close();
  await rm(plan.data.running, { force: true });
  return exitCode;
}

function startAll(plan: UpPlan, events: SupervisorEvents): readonly Supervised[] {
  const start = (name: ProcessName, flags: readonly string[]): Supervised => {
    const hidden = hideSecrets(name, flags);
    const secrets = { ...hidden.secrets, ...(name === EXPORTER ? {} : plan.secretsOf[name]) };
    const isOptional = name === EXPORTER || name === 'console';
    return supervise(
      name,
      {
        flags: hidden.flags,
        secrets,
        logFolder: plan.data.serviceLogs,
        logLimits: plan.logLimits,
        isOptional,
      },
      events,
    );
  };
  const names = serviceNames.filter((name) => name !== 'console' || plan.hasConsole);
  const services = names.map((name) => start(name, [...plan.shared, ...plan.byService[name]]));
  if (plan.sessionsExport === undefined) return services;
  const flags = [...commandFlags(plan.shared), ...bucketFlags(plan.byService.trainer)];
  return [...services, start(EXPORTER, [...flags, '--into', plan.sessionsExport])];
}

/** Updates the file that shows other commands which services run, and where. */
function recordPids({ data, endpoint, health }: UpPlan, complain: (line: string) => void) {
  const pids = new Map<string, number>();
  return (service: ProcessName, pid: number | undefined): void => {
    if (pid === undefined) pids.delete(service);
    else pids.set(service, pid);
    try {
      writeRunning(data.running, {
        supervisor: process.pid,
        services: Object.fromEntries(pids),
        endpoint: endpoint.url,
        health,
      });
    } catch (error) {
      complain(`cannot write ${data.running}: ${(error as Error).message}`);
    }
  };
}

/** Prints each caution once. */
function watchCautions(cautions: () => readonly Caution[], print: (line: string) => void) {
  const printed = new Set<string>();
  const timer = setInterval(() => {
    for (const { id, what, advice } of cautions()) {
      if (printed.has(id)) continue;
      printed.add(id);
      print(`note: ${what}${advice === undefined ? '' : `\n      -> ${advice}`}`);
    }
  }, CAUTION_INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}

const notesAtStart = ({ isFirstStart, common, engine }: UpPlan): readonly string[] =>
  [isFirstStart ? demoNote(common.model, engine) : undefined, unmeasuredNote(common.model)].filter(
    (note) => note !== undefined,
  );
