import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, UsageError } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { findServer } from '../find-server.ts';
import { readOptions } from '../options.ts';
import { createSessionClient } from '../rl-client.ts';
import { loadAgent, loadReward } from '../rollout/load-modules.ts';
import { openProgress } from '../rollout/progress.ts';
import { readTasks } from '../rollout/read-tasks.ts';
import { resultLine } from '../rollout/result-line.ts';
import { openResults } from '../rollout/results-file.ts';
import { runRollout, type Settled } from '../rollout/run-rollout.ts';
import { ROLLOUT_USAGE, rolloutFlags, rolloutSettings } from '../rollout/settings.ts';
import { createStartGate } from '../rollout/start-gate.ts';
import { watchStrayErrors } from '../rollout/stray-errors.ts';
import { formatSummary, summarise } from '../rollout/summary.ts';
import { INTERRUPTED, stopOnSignals } from '../stop-on-signals.ts';

export const rollout: Command = {
  name: 'rollout',
  usage: ROLLOUT_USAGE,
  about: 'runs an agent n times per task and trains by how its attempts compare',
  details: [
    ['--agent FILE', 'exports `agent({task, baseUrl, apiKey, session, signal, attempt, seed})`'],
    ['--reward FILE', 'exports `reward({task, result, session, attempt, signal})`: a number, -1 to 1'],
    ['--data FILE', 'one task per line, JSON; an `id` names it'],
    ['-n, --n N', 'attempts per task; 4'],
    ['--concurrency N', 'attempts at the same time; 4'],
    ['--timeout S', 'seconds for one try of the agent; 300'],
    ['--reward-timeout S', 'seconds for the reward of one; 60'],
    ['--retries N', 'further tries of an attempt that failed, each in a session of its own; 1'],
    ['--room-timeout S', 'seconds without any movement until the server counts as full; 600'],
    ['--advantage mean|grpo', 'reward less the mean of its task; grpo: over the deviation too'],
    ['--seed N', 'the seeds that agents are given follow from it; 0'],
    ['--out FILE', 'one line per attempt, JSON; it must not be there yet'],
    ['--model NAME', 'whose adapter the attempts are of: clawloop:bob; that of the key unless told'],
    ['--url URL', 'of the endpoint; where the one of the data folder listens unless told'],
    ['--key KEY', 'access key; CLAWLOOP_SERVING_API_KEY unless told'],
  ],
  outlivesReader: true,
  run: async (argv) => {
    const { values, settings: own } = readOptions(argv, rolloutFlags);
    const settings = rolloutSettings(values);
    const tasks = readTasks(await textOf(settings.data), settings.data);
    const [agent, reward] = await Promise.all([loadAgent(settings.agent), loadReward(settings.reward)]);
    const stop = new AbortController();
    const { url: baseUrl, answers } = await findServer(values.url, own.dataFolder, stop.signal);
    if (!answers) throw new UsageError(`nothing answers at ${baseUrl}: npm start, or give --url`);
    const key = values.key ?? endpointSettings([]).apiKey;
    const results = openResults(values.out);
    const ignoreSignals = stopOnSignals(
      stop,
      'stopping: sessions that are open are taken back; once more: at once',
    );
    const [working, strays] = [{ count: 0 }, { count: 0 }];
    let refused: UsageError | undefined;
    const gate = createStartGate(createSessionClient(baseUrl, key, stop.signal), {
      model: values.model,
      roomTimeoutMs: settings.roomTimeoutMs,
      isBusy: () => working.count > 0,
      stop: stop.signal,
      onRefused: (error) => {
        refused ??= error;
        stop.abort();
      },
    });
    const settled: Settled[] = [];
    const progress = openProgress(process.stderr, tasks.length * settings.n);
    const strayErrors = watchStrayErrors();
    try {
      await runRollout(tasks, settings.n, {
        ...settings,
        ...{ client: createSessionClient(baseUrl, key), gate, agent, reward, baseUrl, working, strays },
        stop: stop.signal,
        onAttempt: progress.on,
        onSettled: (group) => {
          settled.push(...group);
          for (const one of group) results.write(resultLine(one));
        },
      });
    } finally {
      progress.end();
      results.close();
      ignoreSignals();
      strayErrors.close();
    }
    if (refused !== undefined) throw refused;

    const summary = summarise(settled);
    console.log(formatSummary(summary, gate.waits()));
    if (strayErrors.count() > 0)
      console.log(`${strayErrors.count()} errors that nobody awaited, the last: ${strayErrors.last()}`);
    if (values.out !== undefined) console.log(`one line per attempt: ${resolve(values.out)}`);
    const code = stop.signal.aborted ? INTERRUPTED : summary.failed > 0 ? 1 : 0;
    if (strays.count > 0) {
      console.log(`${strays.count} calls did not end when their signal aborted; they end with this process`);
      process.exit(code);
    }
    return code;
  },
};

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`);
  });
