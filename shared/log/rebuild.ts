import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import { isLogError } from './errors.ts';
import type { CommittedPartition, EventLog, SettingsStretch, SubjectView } from './event-log.ts';
import type { DeferredEvent, Fold } from './fold.ts';
import { completeEvents, foldEvent, isFor, openState, type PartitionState, viewsOf } from './fold-chunk.ts';
import { readToEnd } from './read-topic.ts';

export type RebuiltPartition = {
  readonly partition: number;
  /** Input position that the group had committed; the rebuild ends here. */
  readonly position: number;
  readonly subjects: readonly SubjectView[];
  readonly emitted: readonly ClawLoopEvent[];
};

type Share = Pick<CommittedPartition, 'topic' | 'partition' | 'position'>;

/**
 * Computes a group's rows and facts from its input: folds each partition from 0 to the group's position, or to
 * the position in `upTo`, under the settings in force at each position. Reads only. It does not make
 * `event.rejected` again, because those do not come from the fold. If the record of a deferred event is gone, the
 * result is `record-gone`, as in the fold itself. Throws NewerSchema.
 */
export async function rebuild<Settings>(
  log: EventLog,
  group: string,
  fold: Fold<Settings>,
  upTo?: readonly Share[],
): Promise<readonly RebuiltPartition[]> {
  const [lag, stretches] = await Promise.all([upTo ?? log.lag(group), log.stretches(group)]);
  const parts = new Map(
    lag
      .filter(({ topic }) => topic === fold.reads)
      .map((share) => [share.partition, openPart<Settings>(share, stretches)] as const),
  );
  await readToEnd(log, fold.reads, ({ event, at, time }) => {
    const part = parts.get(at.partition);
    if (part === undefined || at.offset >= part.position || !isFor(group, event)) return;
    const input = { ...event, recorded: time };
    const settings = part.settingsAt(at.offset);
    part.emit.push(...foldEvent(part.state, { fold, settings }, input, at).emit);
  });

  return Promise.all(
    [...parts.values()].map(async ({ state, position, emit }) => ({
      partition: state.partition,
      position,
      subjects: viewsOf(state),
      emitted: await completeEvents(fold, emit, (positions) =>
        Promise.all(positions.map((at) => readIfThere(log, fold.reads, at))),
      ),
    })),
  );
}

async function readIfThere(log: EventLog, topic: Topic, at: Position): Promise<ClawLoopEvent | undefined> {
  try {
    return await log.read(topic, at);
  } catch (error) {
    if (isLogError(error, 'RecordGone') || isLogError(error, 'BrokenRecord')) return undefined;
    throw error;
  }
}

function openPart<Settings>({ topic, partition, position }: Share, stretches: readonly SettingsStretch[]) {
  const mine = stretches.filter((stretch) => stretch.topic === topic && stretch.partition === partition);
  const state: PartitionState = openState(partition, []);
  const emit: (ClawLoopEvent | DeferredEvent)[] = [];
  return {
    state,
    position,
    emit,
    settingsAt: (offset: number): Settings =>
      mine.findLast(({ from }) => from <= offset)?.settings as Settings,
  };
}
