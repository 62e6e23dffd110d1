import type { UsageError } from '../../../shared/runtime/command-errors.ts';
import { failed } from '../failures.ts';
import { readTasks } from '../read-tasks.ts';
import { type RolloutDeps, runRollout, type Settled } from '../run-rollout.ts';
import { type Silence, watchServer } from '../server-watch.ts';
import { createStartGate } from '../start-gate.ts';
import { summarise } from '../summary.ts';
import { createProtocolDouble } from './protocol-server.ts';

type Given = Partial<RolloutDeps> & {
  readonly onSilence?: (silence: Silence) => void;
  readonly tasks?: number;
  /** data of the tasks; default: as many as `tasks` */
  readonly data?: readonly object[];
  readonly n?: number;
  readonly double?: ReturnType<typeof createProtocolDouble>;
};

/** Runs a rollout to its end. Returns the settled attempts and the sessions on the server. */
export async function roll({ tasks = 2, n = 4, data, double = createProtocolDouble(), ...given }: Given) {
  const { sessions, mostOpen } = double;
  const working = { count: 0 };
  const strays = { count: 0 };
  const gone = new AbortController();
  const stop = AbortSignal.any([gone.signal, ...(given.stop === undefined ? [] : [given.stop])]);
  const settled: Settled[] = [];
  const onRefused = (error: UsageError) => {
    throw error;
  };
  const roomTimeoutMs = given.roomTimeoutMs ?? 10_000;
  const onSilence = (silence: Silence): void => {
    given.onSilence?.(silence);
    if (silence.kind === 'given-up') gone.abort(failed('server-silent', silence.reason));
  };
  const watched = watchServer(
    { sessions: double.client, leases: double.leases },
    { limitMs: roomTimeoutMs, onSilence, stop },
  );
  const gate = createStartGate(watched.sessions, {
    roomTimeoutMs,
    isBusy: () => working.count > 0,
    stop,
    onRefused,
  });
  const rows = data ?? Array.from({ length: tasks }, (_, index) => ({ id: `t${index}`, index }));
  const lines = rows.map((row) => JSON.stringify(row));
  await runRollout(readTasks(lines.join('\n'), 'tasks.jsonl'), n, {
    client: watched.sessions,
    leasing: { client: watched.leases, environment: 'memory', ttlMs: 60_000 },
    gate,
    working,
    strays,
    onRefused,
    baseUrl: 'http://127.0.0.1:1',
    seed: 0,
    roomTimeoutMs: 10_000,
    concurrency: 4,
    retries: 0,
    timeoutMs: 5_000,
    rewardTimeoutMs: 5_000,
    advantage: 'mean' as const,
    agent: ({ attempt }) => attempt,
    reward: ({ result }) => (result as number) / 10,
    onAttempt: () => {},
    onSettled: (group) => settled.push(...group),
    ...given,
    stop,
  });
  const opened = [...sessions.values()];
  settled.sort((a, b) => a.attempt.rank - b.attempt.rank);
  return { settled, opened, summary: summarise(settled), strays, waits: gate.waits(), mostOpen: mostOpen() };
}

/** The reward of each attempt, or why it failed. */
export const kindsOf = (settled: readonly Settled[]) =>
  settled.map(({ outcome }) => (outcome.kind === 'rewarded' ? outcome.reward : outcome.failure));
