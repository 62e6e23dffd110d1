import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Topic, topics } from '../../shared/events/define-event.ts';
import type { Position } from '../../shared/events/position.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { keepSnapshot } from '../../shared/log/snapshots/keep-snapshot.ts';
import type { ReadUpTo } from '../../shared/log/snapshots/read-so-far.ts';
import { openSnapshots } from '../../shared/log/snapshots/snapshots.ts';
import type { LogReader } from './follow-log.ts';
import { createConsoleModel, storedConsole } from './model/console-model.ts';
import { openTurnRows } from './model/turns/turn-rows.ts';

/** New records that make it worth to store what is known besides the turns; reading them again takes a second or two. */
const WORTH = 20_000;
/** ms to store it at the end */
const CLOSE_MS = 5_000;

type Options = {
  readonly log: EventLog;
  /** folder of the stored states */
  readonly folder: string;
  readonly onFailure: (error: unknown) => void;
};

/**
 * Opens the model from what is stored: the rows of the turns, and a state of everything else. Each part goes on by
 * itself where it ends.
 */
export async function openStoredModel({ log, folder, onFailure }: Options) {
  const snapshots = openSnapshots({ folder, log });
  const stored = await snapshots.load(storedConsole);
  const turns = await openTurnRows(join(folder, 'console.sqlite'), log);
  // earlier releases stored all turns there
  await rm(join(folder, 'turns.snapshot'), { force: true }).catch(onFailure);
  const isNew = (topic: Topic, { partition, offset }: Position): boolean =>
    offset >= (stored?.upTo[topic]?.[partition] ?? 0);
  const model = createConsoleModel({ turns, others: stored?.state, isNew });
  /** Where the reader begins. */
  const from: ReadUpTo = Object.fromEntries(
    topics.map((topic) => [topic, earlier(turns.upTo(), stored?.upTo, topic)]),
  );
  const keep = (reader: LogReader): { readonly close: () => Promise<void> } => {
    const others = keepSnapshot({
      snapshots,
      kind: storedConsole,
      stored: stored?.upTo,
      upTo: () => further(reader.upTo(), stored?.upTo),
      // what a later program has to read is not in the state: it goes on from the state before
      state: () => (reader.stopped().length === 0 ? model.others() : undefined),
      isCaughtUp: reader.isCaughtUp,
      records: WORTH,
      closeMs: CLOSE_MS,
      onFailure,
    });
    const close = async (): Promise<void> => {
      await others.close();
      turns.close();
    };
    return { close };
  };
  return { model, from, keep };
}

function earlier(turns: ReadUpTo, others: ReadUpTo | undefined, topic: Topic): readonly number[] {
  const offsets = others?.[topic] ?? [];
  if (topic === 'dead-letters') return offsets;
  return offsets.map((offset, partition) => Math.min(offset, turns[topic]?.[partition] ?? 0));
}

/** A state that goes further than the reader has come has read up to there. */
const further = (reader: ReadUpTo, stored: ReadUpTo | undefined): ReadUpTo =>
  Object.fromEntries(
    Object.entries(reader).map(([topic, offsets]) => [
      topic,
      offsets.map((offset, partition) => Math.max(offset, stored?.[topic as Topic]?.[partition] ?? 0)),
    ]),
  );
