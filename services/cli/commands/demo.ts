import type { Command } from '../command.ts';
import { UsageError } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { exportStep } from '../demo/export-step.ts';
import { runLifecycle, StepFailed } from '../demo/lifecycle.ts';
import { type OwnServer, startOwnServer } from '../demo/own-server.ts';
import { findServer } from '../find-server.ts';
import { readOptions, splitAction } from '../options.ts';
import { createSessionClient } from '../rl-client.ts';
import { INTERRUPTED, stopOnSignals } from '../stop-on-signals.ts';

const options = {
  url: { type: 'string' },
  key: { type: 'string' },
  task: { type: 'string', default: 'demo-task' },
  wait: { type: 'string', default: '120' },
  own: { type: 'boolean' },
} as const;

export const demo: Command = {
  name: 'demo',
  usage: 'lifecycle',
  about: 'shows the life of a rewarded session against a server, step by step',
  details: [
    ['lifecycle', 'start, three turns, rewards, refresh, end, export, and the version made of it'],
    ['', 'on the server that runs; where none does, on one of its own, which is gone afterwards'],
    ['--own', 'on one of its own in any case: what is said in the demo trains'],
    ['--task NAME', 'what the sessions are attempts at; demo-task'],
    ['--wait S', 'seconds that the new version is waited for; 120, 0: not at all'],
    ['--url URL', 'of the endpoint; where the one of the data folder listens unless told'],
    ['--key KEY', 'access key; CLAWLOOP_SERVING_API_KEY unless told'],
  ],
  outlivesReader: true,
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'lifecycle');
    const { values, settings } = readOptions(rest, options);
    if (action !== 'lifecycle') throw new UsageError(`demo ${action}? one of: lifecycle`);
    const seconds = Number(values.wait);
    if (values.wait.trim() === '' || !(seconds >= 0 && seconds <= 86_400))
      throw new UsageError(`--wait must be a number of seconds, not '${values.wait}'`);

    const stop = new AbortController();
    const ignoreSignals = stopOnSignals(stop, 'stopping: a session that is open is taken back');
    let own: OwnServer | undefined;
    try {
      const url =
        values.own === true ? undefined : await runningServer(values.url, settings.dataFolder, stop.signal);
      if (url === undefined) {
        console.log('no server runs: one of its own is started, and removed at the end');
        own = await startOwnServer(stop.signal);
      }
      const address = own?.url ?? url!;
      const accessKey = own === undefined ? (values.key ?? endpointSettings([]).apiKey) : undefined;
      console.log(`server             ${address}`);
      await runLifecycle({
        ...{ url: address, accessKey, task: values.task, waitMs: seconds * 1000 },
        client: createSessionClient(address, accessKey),
        exported: (sessions) =>
          exportStep(
            own === undefined ? settings : { ...settings, log: 'sqlite', dataFolder: own.dataFolder },
            sessions,
          ),
        say: (line) => console.log(line),
        signal: stop.signal,
      });
      return 0;
    } catch (error) {
      if (stop.signal.aborted) return INTERRUPTED;
      if (!(error instanceof StepFailed)) throw error;
      console.error(error.message);
      return 1;
    } finally {
      await own?.stop();
      ignoreSignals();
    }
  },
};

/** Undefined where none runs. @throws UsageError where one was named and does not answer */
async function runningServer(
  named: string | undefined,
  dataFolder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { url, answers } = await findServer(named, dataFolder, signal);
  if (!answers && named !== undefined) throw new UsageError(`nothing answers at ${url}`);
  return answers ? url : undefined;
}
