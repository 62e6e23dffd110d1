import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSessionClient, type SessionClient } from '../../../clients/api-client.ts';
import { driverOf, ENVIRONMENT_FORMS } from '../../../clients/environments/drivers.ts';
import type { EnvironmentDriver } from '../../../clients/environments/environment.ts';
import { createLeaseClient, type LeaseClient, refuseOlderServer } from '../../../clients/lease-client.ts';
import { agentOf } from '../../../clients/rollout/agent-of.ts';
import { failed } from '../../../clients/rollout/failures.ts';
import { type Left, openJournal, resumeFrom } from '../../../clients/rollout/journal.ts';
import { loadReward } from '../../../clients/rollout/load-modules.ts';
import { openProgress } from '../../../clients/rollout/progress.ts';
import { readTasks, type Task } from '../../../clients/rollout/read-tasks.ts';
import { resultLine } from '../../../clients/rollout/result-line.ts';
import { openResults } from '../../../clients/rollout/results-file.ts';
import { runRollout, type Settled } from '../../../clients/rollout/run-rollout.ts';
import { type Silence, watchServer } from '../../../clients/rollout/server-watch.ts';
import {
  ROLLOUT_USAGE,
  type RolloutSettings,
  rolloutFlags,
  rolloutSettings,
} from '../../../clients/rollout/settings.ts';
import { createStartGate } from '../../../clients/rollout/start-gate.ts';
import { watchStrayErrors } from '../../../clients/rollout/stray-errors.ts';
import { formatSummary, summarise } from '../../../clients/rollout/summary.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { INTERRUPTED, stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import type { Command } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { findServer } from '../find-server.ts';
import { readOptions } from '../options.ts';

export const rollout: Command = {
  name: 'rollout',
  usage: ROLLOUT_USAGE,
  about: 'run an agent n times per task and train from how its attempts compare',
  details: [
    ['--env ENVIRONMENT', `environment of the attempts: ${ENVIRONMENT_FORMS}`],
    ['--pool-kind KIND', 'what a pool server offers: terminal, gui or swe'],
    ['--split NAME', "part of the environment's tasks; default train"],
    ['--tasks N|FROM:TO', 'first N tasks, or a range of them; default: all'],
    ['--max-steps N', 'answers of the agents `tools` and `bash` per attempt; default 30'],
    ['--act-timeout S', 'seconds for one action in the environment; default 60'],
    [
      '--lease-timeout S',
      'seconds after which the environment of a silent rollout counts as free; default 120',
    ],
    ['--browser PATH', 'Chromium or Chrome for web pages; default: the first on PATH'],
    ['--form calls|backticks', 'how the agent `bash` asks for commands; backticks for models without calls'],
    ['--context-tokens N', 'tokens of a conversation above which `bash` leaves turns out; default: no limit'],
    ['--container-tool NAME', 'podman or docker; default: the one that is installed'],
    ['--environments N', 'attempts with a container at once; default 4'],
    ['--network', 'give a network to containers whose task asks for one'],
    ['--timeout-counts', 'rate an attempt that timed out as it stands'],
    [
      '--agent FILE|tools|bash',
      'exports `agent({task, baseUrl, apiKey, session, signal, attempt, seed, environment})`',
    ],
    [
      '--agent program:COMMAND',
      'runs a shell command per attempt, with $INSTRUCTION and the endpoint in its variables',
    ],
    [
      '--reward FILE',
      'exports `reward({task, result, evaluation, session, attempt, signal})`: a number, -1 to 1',
    ],
    ['--data FILE', 'one JSON task per line; an `id` names it'],
    ['-n, --n N', 'attempts per task; default 4'],
    ['--informative N', 'begin no further task once N tasks gave different rewards; default: all tasks'],
    ['--concurrency N', 'concurrent attempts; default 4'],
    ['--timeout S', 'seconds for one try of the agent; default 300'],
    ['--reward-timeout S', 'seconds for the reward function; default 60'],
    ['--retries N', 'retries of a failed attempt, each in a new session; default 1'],
    [
      '--room-timeout S',
      'seconds without progress after which the server counts as full or gone; default 600',
    ],
    ['--advantage mean|grpo', "reward minus the task's mean; grpo also divides by the deviation"],
    ['--process BETA', "weight of the judge's votes on each step, 0 to 10; default 0: no votes"],
    ['--process-votes N', 'votes per step, 1 to 15; default 3'],
    [
      '--process-baseline attempt|index',
      "compares a step with the mean of all steps, or with the attempts' steps of equal number",
    ],
    ['--process-timeout S', 'seconds to wait for votes when a task is done; default 300'],
    ['--anchors OMEGA', 'weight of the comparison of steps taken in equal states, 0 to 10; default 0'],
    [
      '--weigh turn|attempt',
      'give each turn or each attempt the same weight; default: attempt with --env, otherwise turn',
    ],
    ['--seed N', 'base of the seeds passed to the agents; default 0'],
    ['--out FILE', 'write one JSON line per attempt; the file must not exist'],
    ['--resume', 'continue the rollout of --out, which was stopped or killed'],
    ['--model NAME', "model name that selects the adapter, such as clawloop:bob; default: the key's adapter"],
    ['--url URL', 'URL of the endpoint; default: the server of the data folder'],
    ['--key KEY', 'access key; default: CLAWLOOP_SERVING_API_KEY'],
  ],
  outlivesReader: true,
  run: async (argv) => {
    const { values, settings: cliSettings } = readOptions(argv, rolloutFlags);
    const settings = rolloutSettings(values);
    const { environment } = settings;
    const environments = environment && driverOf(environment.specification, environment);
    const tasks = await tasksOf(settings, environments);
    const [agent, reward] = await Promise.all([
      agentOf(settings.agent, values.model ?? 'clawloop'),
      settings.reward && loadReward(settings.reward),
    ]);
    const stop = new AbortController();
    const { url: baseUrl, answers } = await findServer(values.url, cliSettings.dataFolder, stop.signal);
    if (!answers) throw new UsageError(`nothing answers at ${baseUrl}: run npm start, or give --url`);
    const key = values.key ?? endpointSettings([]).apiKey;
    const sessions = createSessionClient(baseUrl, key);
    const leases = createLeaseClient(baseUrl, key);
    if (environment !== undefined) await refuseOlderServer(leases);
    const left = values.resume ? resumeFrom(values.out!, tasks, settings.n) : undefined;
    if (left !== undefined) await tidy(left, sessions, leases);
    const results = openResults(values.out, left !== undefined);
    const journal = openJournal(values.out, tasks, settings.n);
    const finished = left && { tasks: left.finished, informative: left.informative };
    const ignoreSignals = stopOnSignals(
      stop,
      'stopping: open sessions are discarded; press Ctrl-C again to stop at once',
    );
    const [working, strays] = [{ count: 0 }, { count: 0 }];
    let refused: UsageError | undefined;
    const onRefused = (error: UsageError) => {
      refused ??= error;
      stop.abort();
    };
    let isGone = false;
    const onSilence = (silence: Silence) => {
      console.error(`\n${silenceLine(baseUrl, silence, settings.roomTimeoutMs)}`);
      if (silence.kind !== 'given-up') return;
      isGone = true;
      stop.abort(failed('server-silent', silence.reason));
    };
    const untilStop = createSessionClient(baseUrl, key, stop.signal);
    const watched = watchServer(
      { sessions: { ...sessions, start: untilStop.start }, leases },
      { limitMs: settings.roomTimeoutMs, onSilence, stop: stop.signal },
    );
    const gate = createStartGate(watched.sessions, {
      model: values.model,
      terms: settings.terms,
      roomTimeoutMs: settings.roomTimeoutMs,
      isBusy: () => working.count > 0,
      stop: stop.signal,
      onRefused,
    });
    const settled: Settled[] = [];
    const progress = openProgress(process.stderr, (tasks.length - (finished?.tasks.size ?? 0)) * settings.n);
    const strayErrors = watchStrayErrors();
    try {
      await runRollout(tasks, settings.n, {
        ...settings,
        client: watched.sessions,
        gate,
        finished,
        onSession: journal.opened,
        onEnding: journal.ending,
        agent,
        reward: reward || undefined,
        environments,
        leasing: environment && {
          client: watched.leases,
          environment: environment.specification.split(':')[0]!,
          ttlMs: environment.leaseTtlMs,
        },
        onRefused,
        baseUrl,
        working,
        strays,
        stop: stop.signal,
        onAttempt: progress.on,
        onSettled: (group) => {
          settled.push(...group);
          for (const attempt of group) results.write(resultLine(attempt));
        },
      });
    } finally {
      await environments?.close?.();
      progress.end();
      results.close();
      ignoreSignals();
      strayErrors.close();
    }
    if (refused !== undefined) throw refused;

    const summary = summarise(settled);
    console.log(formatSummary(summary, gate.waits(), settings.terms.process !== undefined));
    if (strayErrors.count() > 0)
      console.log(
        `${strayErrors.count()} unhandled errors outside any attempt, the last: ${strayErrors.last()}`,
      );
    if (finished !== undefined) console.log(`${finished.tasks.size} more tasks were finished before`);
    for (const remark of environments?.remarks?.() ?? []) console.log(remark);
    if (values.out !== undefined) console.log(`results: ${resolve(values.out)}`);
    if (!stop.signal.aborted) journal.remove();
    else if (values.out !== undefined) console.log('continue with --resume');
    const isInterrupted = stop.signal.aborted && !isGone;
    const code = isInterrupted ? INTERRUPTED : summary.failed > 0 ? 1 : 0;
    if (strays.count > 0) {
      console.log(`${strays.count} calls did not end when their signal aborted; they end with this process`);
      process.exit(code);
    }
    return code;
  },
};

function silenceLine(url: string, silence: Silence, limitMs: number): string {
  switch (silence.kind) {
    case 'silent':
      return `${url} does not answer (${silence.reason}); trying again for ${limitMs / 1000} s`;
    case 'over':
      return `${url} answers again`;
    case 'given-up':
      return `${url} did not answer for ${limitMs / 1000} s (${silence.reason}): the rollout ends`;
  }
}

/** @throws UsageError */
async function tasksOf(
  { data, environment, reward }: RolloutSettings,
  environments: EnvironmentDriver | undefined,
): Promise<readonly Task[]> {
  if (environments?.hasRating === false && reward === undefined)
    throw new UsageError(`${environment!.specification} does not rate attempts: give --reward`);
  if (data !== undefined) {
    const tasks = readTasks(await textOf(data), data);
    return (await environments?.prepare?.(tasks)) ?? tasks;
  }
  return environments!.tasks(environment!.selection);
}

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${error.message}`);
  });

/** Ends the sessions that an earlier part of the rollout left open, and frees their environments. */
async function tidy(
  { toDiscard, toEnd }: Left,
  { endNamed }: Pick<SessionClient, 'endNamed'>,
  { say }: Pick<LeaseClient, 'say'>,
): Promise<void> {
  for (const session of toEnd) await endNamed(session);
  for (const session of toDiscard) {
    await endNamed(session, { discard: true });
    await say(session, { what: 'released' });
  }
}
