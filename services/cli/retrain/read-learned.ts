import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import { headTypes, openHead } from '../../../shared/lineage/head.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { readToEnd } from '../../../shared/log/read-topic.ts';
import { openReturnedTurns } from '../../../shared/views/returned-turns.ts';
import type { Learned } from './plan.ts';

export type ReadLearned = Learned & {
  readonly isPaused: boolean;
  /** the head and the last batch right before a command, and the head right after it; undefined: it is not in the log */
  readonly at: { readonly before: number; readonly n: number; readonly after: number } | undefined;
};

/**
 * Reads what the versions of an adapter learned from.
 * @param command id of a command
 * @throws LogUnavailable
 */
export async function readLearned(
  log: Pick<EventLog, 'follow'>,
  adapter: string,
  command?: string,
): Promise<ReadLearned> {
  const head = openHead();
  const returned = openReturnedTurns();
  const batches = new Map<number, BatchSubmitted['data']>();
  const [withdrawn, corrected, erased] = [new Set<string>(), new Set<string>(), new Set<number>()];
  let isPaused = false;
  let at: ReadLearned['at'];
  const onTraining = (event: ClawLoopEvent): void => {
    if (event.subject !== adapter) return;
    const { head: before, n, commands } = head.state();
    if (event.type === 'batch.returned' && !commands[event.id]) returned.add(event);
    head.on(event);
    if (event.id === command) at ??= { before, n, after: head.state().head };
    if (event.type === 'batch.submitted' && !batches.has(event.data.n)) {
      batches.set(event.data.n, event.data);
      if (event.data.again !== undefined) returned.form(event.data.again, event.data.samples);
    }
    if (event.type === 'sample.dropped' && event.data.returned !== undefined) {
      returned.drop(event.data.returned, event.data.sampleId);
      if (event.data.reason === 'corrected') corrected.add(event.data.sampleId);
    }
    if (event.type === 'sample.withdrawn' && event.data.reason !== 'corrected')
      withdrawn.add(turnOfSample(event.data.sampleId));
    if (event.type === 'learning.paused') isPaused = true;
    if (event.type === 'learning.resumed') isPaused = false;
  };
  const onOthers = (event: ClawLoopEvent): void => {
    if (event.type === 'interaction.withdrawn' || event.type === 'response.deleted')
      withdrawn.add(event.data.interactionId);
    if (event.type === 'words.erased')
      for (const one of event.data.versions) if (one.adapter === adapter) erased.add(one.version);
  };
  // A withdrawal is in `conversations` before the collector reads it, and in `training` after that is trimmed.
  const ofConversations = new Set(['interaction.withdrawn', 'response.deleted']);
  await readToEnd(log, 'conversations', ({ event }) => onOthers(event), { wants: ofConversations });
  const ofTraining = new Set([
    ...headTypes,
    'sample.withdrawn',
    'sample.dropped',
    'learning.paused',
    'learning.resumed',
  ]);
  await readToEnd(log, 'training', ({ event }) => onTraining(event), { wants: ofTraining });
  await readToEnd(log, 'dead-letters', ({ event }) => onOthers(event), { wants: new Set(['words.erased']) });
  const numbers = new Map([...batches.values()].map(({ batchId, n }) => [batchId, n]));
  // The collector may not have read that a later return replaces an earlier one.
  const last = [
    ...new Set(
      returned
        .state()
        .map(([, batch]) => batch)
        .toReversed(),
    ),
  ].toReversed();
  const waiting = last.flatMap((batch) => numbers.get(batch) ?? []);
  return { head: head.state(), batches, waiting, withdrawn, corrected, erased, isPaused, at };
}
