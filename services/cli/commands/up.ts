import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { defaultTrainingSettings, unmeasuredNote } from '../../../shared/policy/training-defaults.ts';
import { claimFile } from '../../../shared/service/claim.ts';
import { keyOf } from '../../../shared/service/configured-key.ts';
import { type DataFolder, dataFolder } from '../../../shared/service/data-folder.ts';
import { makeFolder } from '../../../shared/service/make-folder.ts';
import { openLog } from '../../../shared/service/open-log.ts';
import { refuseForeignFolder } from '../../../shared/service/private-folder.ts';
import { REFUSED_EXIT_CODE } from '../../../shared/service/refusal.ts';
import { type Command, UsageError } from '../command.ts';
import {
  batchSettings,
  commandFlags,
  commonSettings,
  endpointSettings,
  engineSettings,
  judgeServerSettings,
} from '../config.ts';
import { fetchWithBar } from '../fetch-with-bar.ts';
import { helpOfUp, isHelp } from '../help.ts';
import { portIsFree } from '../port-is-free.ts';
import { demoNote } from '../real-work.ts';
import { EXPORTER, type ProcessName, serviceNames } from '../service-entry.ts';
import { banner } from '../up/banner.ts';
import { type HealthUrls, healthOf } from '../up/health-here.ts';
import { hideSecrets } from '../up/hide-secrets.ts';
import { openLiveLine } from '../up/live-line.ts';
import { type Endpoint, endpointOf, waitUntilReady, withKeysOf } from '../up/readiness.ts';
import { type RoutedFlags, routeFlags } from '../up/route-flags.ts';
import { readRunning, untilGone, writeRunning } from '../up/running.ts';
import { createStatus, formatStatus } from '../up/status.ts';
import { stepProgressOf } from '../up/step-progress.ts';
import { type Supervised, supervise } from '../up/supervisor.ts';
import { createCautions } from '../views/cautions.ts';

/** ms between two looks at what a person should know */
const CAUTION_INTERVAL_MS = 5_000;

export const up: Command = {
  name: 'up',
  usage: '[--port 8700] [--SERVICE-option ...]',
  about: 'all services on this machine, supervised, on an embedded log',
  details: [
    ['--port N, --host H', 'where the endpoint listens; 8700 and 127.0.0.1 unless told'],
    ['--api-key-file FILE', 'holds an access key; needed beyond loopback. CLAWLOOP_SERVING_API_KEY does too'],
    ['--context window|error', 'what becomes of a prompt that does not fit'],
    ['--system-budget N', 'tokens of the system text that a small model is shown; 0: all'],
    ['--queue, --redis-..., --board-key', 'the queues of judge and trainer'],
    ['--sessions-export FOLDER', 'writes each session of the session protocol that ends into it, as JSONL'],
    [
      '--SERVICE-FLAG',
      "any flag of a service: the judge's --votes is --judge-votes; see clawloop judge --help",
    ],
  ],
  outlivesReader: true,
  helps: true,
  run: async (argv) => {
    if (argv.some(isHelp)) {
      process.stdout.write(helpOfUp(up));
      return 0;
    }
    const { shared, own, sessionsExport } = routeFlags(argv);
    const common = commonSettings(shared);
    const endpoint = endpointOf(own.serving);
    const { batchSize, maxBatchSize, maxStaleness } = batchSettings(own.collector);
    const size = batchSize ?? defaultTrainingSettings(common.model).batchSize;
    // first, so that what is told to serving itself counts
    if (maxStaleness !== undefined) own.serving.unshift('--max-staleness', String(maxStaleness));
    if (maxBatchSize !== undefined) own.serving.unshift('--max-batch-size', String(maxBatchSize));
    if (batchSize !== undefined) own.serving.unshift('--batch-size', String(batchSize));
    const data = dataFolder(common.dataFolder);
    const { engine } = engineSettings(own.serving);
    const isFirstStart = !existsSync(data.serviceLogs);
    const claim = await takeFolder(data, endpoint);
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
    // Whoever started this with a channel to it wants it to end with them.
    if (process.connected === false) stop.abort(); // gone before this line
    process.on('disconnect', () => stop.abort());
    process.channel?.unref(); // the channel alone is nothing to stay for
    const { judgeModel } = judgeServerSettings(own.judge);
    for (const model of [common.model, ...(judgeModel === undefined ? [] : [judgeModel])]) {
      const folder = await fetchWithBar({ ...common, model }, stop.signal).catch((error: unknown) => {
        claim.release();
        if (!stop.signal.aborted) throw error;
      });
      if (folder === undefined) return 0; // told to stop while the model came
    }
    const log = await openLog(common, data, {
      partitions: common.partitions,
      onWaiting: (place, reason, seconds) =>
        void process.stdout.write(`waiting for ${place}, ${seconds} s so far: ${reason}\n`),
      signal: stop.signal,
    }).catch((error: unknown) => {
      claim.release();
      if (!stop.signal.aborted) throw error;
    });
    if (log === undefined) return 0; // told to stop while it waited
    const status = createStatus(common.adapters);
    const live = openLiveLine(process.stdout, () => (ready ? formatStatus(status.status(), size) : ''));
    let ready = false;
    let exitCode = 0;
    const fail = (reason: string, code = 1) => {
      live.print(reason);
      exitCode = code;
      stop.abort();
    };
    const secrets = judgeOnOurOwn(own, endpoint);

    const pids = new Map<string, number>();
    const health = healthOf((name) => [...shared, ...own[name]]);
    const start = (name: ProcessName, flags: readonly string[]): Supervised => {
      const hidden = hideSecrets(name, flags);
      return supervise(
        name,
        {
          ...{ flags: hidden.flags, secrets: { ...hidden.secrets, ...(name === 'judge' ? secrets : {}) } },
          ...{ logFolder: data.serviceLogs, isBeside: name === EXPORTER },
        },
        {
          runs: (service, pid) => {
            if (pid === undefined) pids.delete(service);
            else pids.set(service, pid);
            tell(data, { pids, endpoint, health }, live.print);
          },
          notice: (service, line) => live.print(`${service}: ${line}`),
          said: (service, line) => {
            const step = service === 'trainer' ? stepProgressOf(line) : undefined;
            if (step !== undefined) status.onStep(step);
          },
          refused: (service, reason) => fail(`${service} cannot go on:\n${reason}`, REFUSED_EXIT_CODE),
        },
      );
    };
    const supervised = serviceNames.map((name) => start(name, [...shared, ...own[name]]));
    if (sessionsExport !== undefined)
      supervised.push(start(EXPORTER, [...commandFlags(shared), '--into', sessionsExport]));
    const cautions = createCautions();
    const told = new Set<string>();
    const caution = () => {
      for (const { id, what, advice } of cautions.cautions()) {
        if (told.has(id)) continue;
        told.add(id);
        live.print(`note: ${what}${advice === undefined ? '' : `\n      -> ${advice}`}`);
      }
    };
    const looking = setInterval(caution, CAUTION_INTERVAL_MS);
    const observe = (event: ClawLoopEvent) => {
      status.on(event);
      cautions.on(event);
    };
    const following = followAll(log, observe, stop.signal);
    live.print(`starting; what the services say is in ${data.serviceLogs}`);
    waitUntilReady(endpoint, stop.signal).then(
      async () => {
        const found = await withKeysOf(data.keys, endpoint);
        if (stop.signal.aborted) return;
        ready = true;
        live.print(banner(found, data.root, common));
        const demo = isFirstStart ? demoNote(common.model, engine) : undefined;
        for (const note of [demo, unmeasuredNote(common.model)])
          if (note !== undefined) live.print(`note: ${note}`);
      },
      (error: Error) => fail(error.message),
    );

    if (!stop.signal.aborted)
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }));
    clearInterval(looking);
    live.close();
    process.stdout.write('stopping ...\n');
    await Promise.all(supervised.map((one) => one.stop()));
    await following;
    await log.close();
    await rm(data.running, { force: true });
    claim.release();
    process.stdout.write('stopped; the log keeps everything\n');
    return exitCode;
  },
};

/**
 * A judge that asks a model asks our own serving unless told otherwise: wherever that listens, with the key
 * that it was given.
 */
function judgeOnOurOwn(own: RoutedFlags['own'], endpoint: Endpoint): Readonly<Record<string, string>> {
  const { openaiBaseUrl, openaiApiKey } = judgeServerSettings(own.judge);
  if (openaiBaseUrl !== undefined) return {};
  own.judge.push('--openai-base-url', `${endpoint.url}/v1`);
  const apiKey = keyOf(endpointSettings(own.serving));
  return apiKey === undefined || openaiApiKey !== undefined ? {} : { CLAWLOOP_JUDGE_OPENAI_API_KEY: apiKey };
}

/** The folder and the port for this process alone. @throws UsageError where either cannot be had */
async function takeFolder(data: DataFolder, { host, port, url }: Endpoint) {
  await refuseForeignFolder(data.root);
  await makeFolder(data.serviceLogs);
  const claim = claimFile(data.claim);
  const before = readRunning(data.running);
  if (claim === undefined) {
    const which = before === undefined ? '' : `, at ${before.endpoint}, process ${before.supervisor}`;
    throw new UsageError(`ClawLoop already runs on ${data.root}${which}`);
  }
  await untilGone(before?.services ?? {}, () =>
    process.stdout.write('waiting for the services of a run that was killed ...\n'),
  );
  if (!(await portIsFree(port, host)))
    throw new UsageError(`${url} is taken, or not of this machine; give another --port or --host`);
  return claim;
}

type Told = {
  readonly pids: ReadonlyMap<string, number>;
  readonly endpoint: Endpoint;
  readonly health: HealthUrls;
};

function tell(data: DataFolder, { pids, endpoint, health }: Told, complain: (line: string) => void): void {
  const running = {
    supervisor: process.pid,
    services: Object.fromEntries(pids),
    endpoint: endpoint.url,
    health,
  };
  try {
    writeRunning(data.running, running);
  } catch (error) {
    complain(`${data.running} cannot be written: ${(error as Error).message}`);
  }
}

async function followAll(
  log: EventLog,
  on: (event: ClawLoopEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const followings = (['conversations', 'turns', 'training'] as const).map((topic) =>
    log.follow(topic, {}, ({ event }) => on(event), signal),
  );
  await Promise.allSettled(followings.map((following) => following.done));
}
