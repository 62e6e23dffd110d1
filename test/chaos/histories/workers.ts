import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import { type HeadState, initialHead, type OpenBatch } from '../../../shared/lineage/head.ts';
import { canaryStarted, promoted, rejected, trained, updateFailed, voteCast } from './facts.ts';
import { hashOf } from './random.ts';
import { append, follow, newTrainer, type World } from './world.ts';

const STRIKES = 3;

/** A worker casts a vote, or loses the job, or does it twice. */
export function voteWork(world: World, worker: number): void {
  const { random, votes, voteWorkers, faulty } = world;
  const job = voteWorkers[worker];
  voteWorkers[worker] = undefined;
  if (job === undefined) {
    voteWorkers[worker] = random.take(votes);
    return;
  }
  if (faulty && random.chance(0.05)) return;
  if (faulty && random.chance(0.05)) votes.push(job);
  if (!world.judgeUp) {
    votes.push(job);
    return;
  }
  const { id, turnId, lane, index } = job;
  const vote = random.of([1, 1, 0, -1, -1, null] as const);
  append(world, voteCast({ id, tick: world.now }, { turnId, lane, index, vote }));
}

/** The batch that a trainer owes a step: none while its candidate is on canary. */
const owedBatch = ({ open, canary }: HeadState): OpenBatch | null =>
  open !== null && open.batchId === canary?.batchId ? null : open;

/** A wake-up per adapter whose open batch owes a step. */
export function wakeTrainers(world: World): void {
  for (const { view } of world.trainers)
    for (const [adapter, state] of view.heads)
      if (owedBatch(state) !== null && !world.wakes.includes(adapter)) world.wakes.push(adapter);
}

/** One step of a trainer's work; a crash or a long pause may fall between any two. */
export function train(world: World, index: number): void {
  const { random, trainers, attempts, checkpoints } = world;
  const trainer = trainers[index]!;
  const crash = () => void trainers.splice(index, 1, newTrainer());
  if (world.faulty && random.chance(0.03)) {
    crash();
    return;
  }
  follow(world, trainer.view, !world.faulty);
  const { task } = trainer;
  if (task === undefined) {
    const adapter = random.take(world.wakes);
    const batch = adapter === undefined ? null : owedBatch(trainer.view.heads.get(adapter) ?? initialHead);
    if (batch !== null) trainer.task = { batch, stage: 'begin' };
    return;
  }
  const { batch } = task;
  const { batchId } = batch;
  const say = (event: ClawLoopEvent) => append(world, event);
  switch (task.stage) {
    case 'begin': {
      const tries = attempts.get(batchId) ?? 0;
      if (checkpoints.has(batchId))
        task.stage = 'announce'; // only its facts are missing
      else if (tries >= STRIKES) {
        say(updateFailed(world.now, batch));
        trainer.task = undefined;
      } else {
        attempts.set(batchId, tries + 1);
        task.stage = 'commit';
      }
      return;
    }
    case 'commit':
      if (killsItsProcess(world, batch) && !checkpoints.has(batchId)) crash();
      else {
        checkpoints.add(batchId); // an exclusive rename: who comes second discards its work
        task.stage = 'announce';
      }
      return;
    case 'announce':
      say(trained(world.now, batch, samplesOf(world, batch)));
      task.stage = 'gate';
      return;
    case 'gate': {
      const seen = trainer.view.heads.get(batch.adapter);
      const fails = hashOf(`${batchId}/gate`) % 7 === 0 || (seen !== undefined && seen.head !== batch.parent);
      const passed = (batch.settings.canaryShare ?? 0) > 0 ? canaryStarted : promoted;
      say((fails ? rejected : passed)(world.now, batch));
      trainer.task = undefined;
    }
  }
}

const samplesOf = ({ records }: World, { samples }: OpenBatch) =>
  samples.map(({ at }) => (records.training[at.partition]![at.offset] as SampleReady).data);

const killsItsProcess = ({ seed }: World, { batchId }: OpenBatch) => hashOf(`${batchId}${seed}`) % 10 === 0;
