import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { defaultTrainingSettings } from '../../../shared/policy/training-defaults.ts';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import type { Command } from '../command.ts';
import { batchSettings, commonSettings } from '../config.ts';
import { serviceNames } from '../service-entry.ts';
import { banner, type Endpoint } from '../up/banner.ts';
import { openLiveLine } from '../up/live-line.ts';
import { endpointOf, waitUntilReady } from '../up/readiness.ts';
import { routeFlags } from '../up/route-flags.ts';
import { createStatus, formatStatus } from '../up/status.ts';
import { type Supervised, supervise } from '../up/supervisor.ts';

export const up: Command = {
  name: 'up',
  usage: '[--port 8700] [--SERVICE-option ...]',
  about: 'all services on this machine, supervised, on an embedded log',
  run: async (argv) => {
    const { shared, own } = routeFlags(argv);
    const common = commonSettings(shared);
    const data = dataFolder(common.dataFolder);
    await mkdir(data.serviceLogs, { recursive: true });
    await mkdir(data.log, { recursive: true });
    const log = await openSqliteLog({ folder: data.log, partitions: common.partitions });
    const endpoint = endpointOf(own.serving);
    const size = batchSettings(own.collector).batchSize ?? defaultTrainingSettings(common.model).batchSize;
    const status = createStatus(common.adapter);
    const live = openLiveLine(process.stdout, () => (ready ? formatStatus(status.status(), size) : ''));
    const stop = new AbortController();
    let ready = false;
    let exitCode = 0;
    const fail = (reason: string) => {
      live.print(reason);
      exitCode = 1;
      stop.abort();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());

    const supervised: readonly Supervised[] = serviceNames.map((name) =>
      supervise(
        name,
        { flags: [...shared, ...own[name]], logFolder: data.serviceLogs },
        {
          notice: (service, line) => live.print(`${service}: ${line}`),
          refused: (service, reason) => fail(`${service} cannot start:\n${reason}`),
        },
      ),
    );
    await writeRunning(data.running, supervised, endpoint);
    const following = followAll(log, status.on, stop.signal);
    live.print(`starting; what the services say is in ${data.serviceLogs}`);
    waitUntilReady(endpoint, stop.signal).then(
      () => {
        if (stop.signal.aborted) return;
        ready = true;
        live.print(banner(endpoint, data.root, common.model));
      },
      (error: Error) => fail(error.message),
    );

    await new Promise<void>((resolve) =>
      stop.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    live.close();
    process.stdout.write('stopping ...\n');
    await Promise.all(supervised.map((one) => one.stop()));
    await following;
    await log.close();
    await rm(data.running, { force: true });
    process.stdout.write('stopped; the log keeps everything\n');
    return exitCode;
  },
};

async function followAll(
  log: EventLog,
  on: ReturnType<typeof createStatus>['on'],
  signal: AbortSignal,
): Promise<void> {
  const followings = (['conversations', 'turns', 'training'] as const).map((topic) =>
    log.follow(topic, {}, ({ event }) => on(event), signal),
  );
  await Promise.allSettled(followings.map((following) => following.done));
}

async function writeRunning(
  path: string,
  supervised: readonly Supervised[],
  endpoint: Endpoint,
): Promise<void> {
  const services = Object.fromEntries(supervised.map((one) => [one.name, one.pid()]));
  await writeFile(
    path,
    JSON.stringify({ supervisor: process.pid, services, endpoint: endpoint.url }, null, 2),
  );
}
