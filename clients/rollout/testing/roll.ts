import { defined } from '../../../shared/lang/defined.ts';
import type { UsageError } from '../../../shared/runtime/command-errors.ts';
import { readTasks } from '../read-tasks.ts';
import { type RolloutDeps, runRollout, type Settled } from '../run-rollout.ts';
import { createStartGate, type Silence } from '../start-gate.ts';
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

const neverStops = new AbortController().signal;

/** Runs a rollout to its end. Returns the settled attempts and the sessions on the server. */
export async function roll({ tasks = 2, n = 4, data, double = createProtocolDouble(), ...given }: Given) {
  const { client, sessions, mostOpen } = double;
  const working = { count: 0 };
  const strays = { count: 0 };
  const stop = given.stop ?? neverStops;
  const settled: Settled[] = [];
  const onRefused = (error: UsageError) => {
    throw error;
  };
  const gate = createStartGate(client, {
    roomTimeoutMs: given.roomTimeoutMs ?? 10_000,
    isBusy: () => working.count > 0,
    stop,
    onRefused,
    ...defined({ onSilence: given.onSilence }),
  });
  const rows = data ?? Array.from({ length: tasks }, (_, index) => ({ id: `t${index}`, index }));
  const lines = rows.map((row) => JSON.stringify(row));
  await runRollout(readTasks(lines.join('\n'), 'tasks.jsonl'), n, {
    client,
    leasing: { client: double.leases, environment: 'memory', ttlMs: 60_000 },
    gate,
    working,
    strays,
    onRefused,
    stop,
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
  });
  const opened = [...sessions.values()];
  settled.sort((a, b) => a.attempt.rank - b.attempt.rank);
  return { settled, opened, summary: summarise(settled), strays, waits: gate.waits(), mostOpen: mostOpen() };
}

/** The reward of each attempt, or why it failed. */
export const kindsOf = (settled: readonly Settled[]) =>
  settled.map(({ outcome }) => (outcome.kind === 'rewarded' ? outcome.reward : outcome.failure));
