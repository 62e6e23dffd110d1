import type { EventLog } from '../../../shared/log/event-log.ts';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { makeFolder } from '../../../shared/runtime/make-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import type { Command } from '../command.ts';
import { fetchWithBar } from '../fetch-with-bar.ts';
import { helpOfUp, isHelp } from '../help.ts';
import { portIsFree } from '../port-is-free.ts';
import { planUp, type UpPlan } from '../up/plan.ts';
import { runServices } from '../up/run-services.ts';
import { readRunning, untilGone } from '../up/running.ts';

export const up: Command = {
  name: 'up',
  usage: '[--port 8700] [--SERVICE-option ...]',
  about: 'run all services on this machine, supervised, on an embedded log',
  details: [
    ['--port N, --host H', 'where the endpoint listens; default 8700 on 127.0.0.1'],
    [
      '--api-key-file FILE',
      'file with an access key; CLAWLOOP_SERVING_API_KEY works too. Required beyond loopback',
    ],
    ['--context window|error', 'cut a prompt that does not fit, or refuse it'],
    ['--system-budget N', 'tokens of the system text that a small model sees; 0: all'],
    ['--queue, --redis-..., --board-key', 'job queues of the judge and the trainer'],
    ['--no-console', 'without the web page that shows turns, versions and the state of the system'],
    ['--sessions-export FOLDER', 'export each rewarded session that ends to this folder, as JSONL'],
    [
      '--service-log-mib N, --service-log-files N',
      'size of a log file in logs/ (32), and how many each service keeps (2)',
    ],
    [
      '--SERVICE-FLAG',
      "any flag of a service: --judge-votes is the judge's --votes; see clawloop judge --help",
    ],
  ],
  outlivesReader: true,
  helps: true,
  run: async (argv) => {
    if (argv.some(isHelp)) {
      process.stdout.write(helpOfUp(up));
      return 0;
    }
    const plan = planUp(argv);
    const claim = await takeFolder(plan);
    const stop = abortWhenAsked();
    let exitCode: number;
    try {
      const log = await prepare(plan, stop.signal);
      if (log === undefined) return 0;
      exitCode = await runServices(plan, log, stop);
    } finally {
      claim.release();
    }
    process.stdout.write('stopped; the log keeps everything\n');
    return exitCode;
  },
};

/** Aborts on a signal, and when a parent process that opened a channel to this one is gone. */
function abortWhenAsked(): AbortController {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  if (process.connected === false) stop.abort(); // the parent is gone already
  process.on('disconnect', () => stop.abort());
  process.channel?.unref(); // the channel must not keep this process alive
  return stop;
}

/** Fetches the models and opens the log; undefined when stopped meanwhile. */
async function prepare({ common, data, models }: UpPlan, signal: AbortSignal): Promise<EventLog | undefined> {
  try {
    for (const model of models) await fetchWithBar({ ...common, model }, signal);
    return await openLog(common, data, {
      partitions: common.partitions,
      onWaiting: (place, reason, seconds) =>
        void process.stdout.write(`waiting for ${place}, ${seconds} s so far: ${reason}\n`),
      signal,
    });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Takes the data folder and the port for this process alone. @throws UsageError when either is in use */
async function takeFolder({ data, endpoint: { host, port, url } }: UpPlan) {
  await refuseForeignFolder(data.root);
  await makeFolder(data.serviceLogs);
  const claim = claimFile(data.claim);
  const previous = readRunning(data.running);
  if (claim === undefined) {
    const where = previous === undefined ? '' : `, at ${previous.endpoint}, process ${previous.supervisor}`;
    throw new UsageError(`ClawLoop already runs on ${data.root}${where}`);
  }
  await untilGone(previous?.services ?? {}, () =>
    process.stdout.write('waiting for the services of a killed run to end ...\n'),
  );
  if (!(await portIsFree(port, host)))
    throw new UsageError(
      `${url} is taken, or the address is not on this machine; give another --port or --host`,
    );
  return claim;
}
