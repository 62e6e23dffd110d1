import { createSessionClient } from '../../../clients/api-client.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { INTERRUPTED, stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import type { Command } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { exportStep } from '../demo/export-step.ts';
import { runLifecycle, StepFailed } from '../demo/lifecycle.ts';
import { startTemporaryServer, type TemporaryServer } from '../demo/temporary-server.ts';
import { findServer } from '../find-server.ts';
import { readOptions, splitAction } from '../options.ts';

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
  about: 'show the life of a rewarded session, step by step',
  details: [
    ['lifecycle', 'start, three turns, rewards, refresh, end, export, and the version trained from it'],
    ['', 'uses the running server, or a temporary one if there is none'],
    ['--own', 'always use a temporary server, because the demo turns train the policy'],
    ['--task NAME', 'task name of the sessions; default demo-task'],
    ['--wait S', 'seconds to wait for the new version; default 120; 0: do not wait'],
    ['--url URL', 'URL of the endpoint; default: the server of the data folder'],
    ['--key KEY', 'access key; default: CLAWLOOP_SERVING_API_KEY'],
  ],
  outlivesReader: true,
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'lifecycle');
    const { values, settings } = readOptions(rest, options);
    if (action !== 'lifecycle') throw new UsageError(`unknown action '${action}'; one of: lifecycle`);
    const seconds = Number(values.wait);
    if (values.wait.trim() === '' || !(seconds >= 0 && seconds <= 86_400))
      throw new UsageError(`--wait must be a number of seconds, not '${values.wait}'`);

    const stop = new AbortController();
    const ignoreSignals = stopOnSignals(stop, 'stopping: the open session is discarded');
    let temporary: TemporaryServer | undefined;
    try {
      const url =
        values.own === true ? undefined : await runningServer(values.url, settings.dataFolder, stop.signal);
      if (url === undefined) {
        console.log('no server is running: starting a temporary one');
        temporary = await startTemporaryServer(stop.signal);
      }
      const address = temporary?.url ?? url!;
      const accessKey = temporary === undefined ? (values.key ?? endpointSettings([]).apiKey) : undefined;
      console.log(`server             ${address}`);
      await runLifecycle({
        url: address,
        accessKey,
        task: values.task,
        waitMs: seconds * 1000,
        client: createSessionClient(address, accessKey),
        exported: (sessions) =>
          exportStep(
            temporary === undefined
              ? settings
              : { ...settings, log: 'sqlite', dataFolder: temporary.dataFolder },
            sessions,
          ),
        print: (line) => console.log(line),
        signal: stop.signal,
      });
      return 0;
    } catch (error) {
      if (stop.signal.aborted) return INTERRUPTED;
      if (!(error instanceof StepFailed)) throw error;
      console.error(error.message);
      return 1;
    } finally {
      await temporary?.stop();
      ignoreSignals();
    }
  },
};

/** Undefined when no server runs. @throws UsageError when the named server does not answer */
async function runningServer(
  named: string | undefined,
  dataFolder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { url, answers } = await findServer(named, dataFolder, signal);
  if (!answers && named !== undefined) throw new UsageError(`nothing answers at ${url}`);
  return answers ? url : undefined;
}
