import type { SubmitSettings } from '../../../services/collector/fold-settings.ts';
import { submit } from '../../../services/collector/submit.ts';
import { sampleReady } from '../../../services/collector/testing/events.ts';
import { lackOfRoom, type OpenSession, type RoomLimits } from '../../../services/serving/sessions/room.ts';
import { countWaitingSamples } from '../../../services/serving/sessions/waiting-samples.ts';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { memoryRows } from '../../../shared/log/rows.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';

export type Rollout = {
  readonly limits: RoomLimits;
  readonly tasks: number;
  /** attempts per task, whose sessions end together */
  readonly n: number;
  readonly workers: number;
  /** answers of an attempt */
  readonly turns: () => number;
  /** ms of one answer, including the agent's work */
  readonly turnMs: () => number;
  /** ms of a step */
  readonly stepMs: (samples: number) => number;
  /** ms after which a client that was refused asks again */
  readonly retryMs: number;
};

export type RolloutEnd = {
  readonly samples: number;
  readonly stale: number;
  /** samples of each batch */
  readonly batches: readonly number[];
  readonly ms: number;
};

type Attempt = {
  readonly name: string;
  readonly task: string;
  readonly startedAt: number;
  readonly versions: number[];
  heardAt: number;
  rewarded: boolean;
};

/**
 * A rollout on a simulated clock. Room and batches are decided by the code of the product; agents, trainer and log take
 * the configured times. @throws if it does not end
 */
export function playRollout(world: Rollout): RolloutEnd {
  const { limits } = world;
  const settings: SubmitSettings = {
    size: limits.batchSize,
    most: limits.maxBatchSize,
    maxStaleness: limits.maxStaleness,
    training: defaultTrainingSettings('claw-nano').settings,
  };
  const rows = memoryRows();
  const samples = countWaitingSamples('default');
  const batches: number[] = [];
  const lengths: number[] = [];
  const open = new Map<string, Attempt>();
  const groups = new Map<string, Attempt[]>();
  const due: { readonly at: number; readonly act: () => void }[] = [];
  let [clock, offset, head, stale, made, begun] = [0, 0, 0, 0, 0, 0];
  const soon = (ms: number, act: () => void) => {
    due.push({ at: clock + ms, act });
    due.sort((a, b) => a.at - b.at);
  };

  const append = (event: ClawLoopEvent): void => {
    samples.on(event);
    const { changes, emit } = submit.on(rows, event, { partition: 0, offset: offset++ }, settings);
    rows.apply(changes);
    for (const fact of emit as readonly ClawLoopEvent[]) {
      samples.on(fact);
      if (fact.type === 'sample.dropped') stale++;
      if (fact.type === 'batch.submitted') train(fact.data);
    }
  };
  const train = ({ batchId, n, parent, samples: taken }: BatchSubmitted['data']): void => {
    batches.push(taken.length);
    soon(world.stepMs(taken.length), () => {
      head = n;
      const data = { batchId, adapter: 'default', from: parent, to: n, checkpoint: '', digest: '' };
      append(PolicyPromoted.create({ id: `p${n}`, source: 'clawloop/test', time: at(clock), data }));
    });
  };

  const end = (attempt: Attempt): void => {
    open.delete(attempt.name);
    lengths.push(attempt.versions.length);
    made += attempt.versions.length;
    for (const [index, version] of attempt.versions.entries()) {
      const following = attempt.versions.length - 1 - index;
      append(sampleReady(`${attempt.name}/${index}`, attempt.name, version, { source: 'reward', following }));
    }
  };
  const work = (attempt: Attempt, left: number): void =>
    soon(world.turnMs(), () => {
      attempt.versions.push(head);
      attempt.heardAt = clock;
      if (left > 1) {
        work(attempt, left - 1);
        return;
      }
      attempt.rewarded = true;
      const group = [...(groups.get(attempt.task) ?? []), attempt];
      groups.set(attempt.task, group);
      if (group.length === world.n)
        for (const one of group.toSorted((a, b) => a.startedAt - b.startedAt)) end(one);
      begin();
    });
  const begin = (): void => {
    const number = begun;
    if (number === world.tasks * world.n) return;
    begun++;
    ask(number);
  };
  /** One after the other, in the order of the tasks. */
  const queue: number[] = [];
  let asks = false;
  const ask = (number: number): void => {
    queue.push(number);
    queue.sort((a, b) => a - b);
    if (!asks) next();
  };
  const next = (): void => {
    const number = queue[0];
    asks = number !== undefined;
    if (number === undefined) return;
    const task = `task ${Math.floor(number / world.n)}`;
    const waiting = samples.waiting();
    const usual =
      lengths.length === 0
        ? 3
        : lengths.slice(-20).reduce((sum, one) => sum + one, 0) / Math.min(20, lengths.length);
    const isFull = lackOfRoom(
      limits,
      { open: [...open.values()].map(seen), others: 0, waiting, trains: samples.trains(), usual },
      { task },
    );
    if (isFull !== undefined) {
      soon(world.retryMs, next);
      return;
    }
    queue.shift();
    const attempt = {
      name: `s${number}`,
      task,
      startedAt: clock,
      versions: [],
      heardAt: clock,
      rewarded: false,
    };
    open.set(attempt.name, attempt);
    work(attempt, world.turns());
    next();
  };
  const seen = ({ task, startedAt, versions, heardAt, rewarded }: Attempt): OpenSession => ({
    answers: versions.length,
    task,
    rewarded,
    openMs: clock - startedAt,
    quietMs: clock - heardAt,
    age: versions.length === 0 ? 0 : samples.ageOf(versions[0]!, limits.maxStaleness),
  });

  for (let worker = 0; worker < world.workers; worker++) begin();
  while (due.length > 0) {
    const { at: now, act } = due.shift()!;
    clock = now;
    if (clock > 10 * 24 * 3_600_000) throw new Error(`${open.size} sessions stay open for ever`);
    act();
  }
  return { samples: made, stale, batches, ms: clock };
}

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
