import { type Topic, topics } from '../../shared/events/define-event.ts';
import type { Position } from '../../shared/events/position.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { keepSnapshot } from '../../shared/log/snapshots/keep-snapshot.ts';
import type { ReadUpTo } from '../../shared/log/snapshots/read-so-far.ts';
import { openSnapshots } from '../../shared/log/snapshots/snapshots.ts';
import { storedTurns } from '../../shared/views/stored-turns.ts';
import type { LogReader } from './follow-log.ts';
import { createConsoleModel, storedConsole } from './model/console-model.ts';

/** New records that make it worth to store the state: it is large, and reading them again takes a second or two. */
const WORTH = 20_000;
/** ms to store it at the end */
const CLOSE_MS = 5_000;

type Options = {
  readonly log: EventLog;
  /** folder of the stored states */
  readonly folder: string;
  readonly onFailure: (error: unknown) => void;
};

/** Opens the model from its stored states. A command may have read further than the console did: each part goes on by itself. */
export async function openStoredModel({ log, folder, onFailure }: Options) {
  const snapshots = openSnapshots({ folder, log });
  const { model, upTo } = await loadModel(snapshots);
  /** Where the reader begins. */
  const from: ReadUpTo = Object.fromEntries(
    topics.map((topic) => [topic, earlier(upTo.turns, upTo.others, topic)]),
  );
  const keep = (reader: LogReader): { readonly close: () => Promise<void> } => {
    // what a later program has to read is not in the state: it goes on from the state before
    const isWhole = () => reader.stopped().length === 0;
    const common = { snapshots, isCaughtUp: reader.isCaughtUp, records: WORTH, closeMs: CLOSE_MS, onFailure };
    const turns = keepSnapshot({
      ...common,
      kind: storedTurns,
      stored: upTo.turns,
      upTo: () => further(withoutLetters(reader.upTo()), upTo.turns),
      state: () => (isWhole() ? model.turns.state() : undefined),
    });
    const others = keepSnapshot({
      ...common,
      kind: storedConsole,
      stored: upTo.others,
      upTo: () => further(reader.upTo(), upTo.others),
      state: () => (isWhole() ? model.others() : undefined),
    });
    return { close: async () => void (await Promise.all([turns.close(), others.close()])) };
  };
  return { model, from, keep };
}

/** The states are not kept in memory: that of the turns is as large as the model. */
async function loadModel(snapshots: ReturnType<typeof openSnapshots>) {
  const [turns, others] = await Promise.all([snapshots.load(storedTurns), snapshots.load(storedConsole)]);
  const upTo = { turns: turns?.upTo, others: others?.upTo };
  const isNew = (part: 'turns' | 'others', topic: Topic, { partition, offset }: Position): boolean =>
    offset >= (upTo[part]?.[topic]?.[partition] ?? 0);
  return { model: createConsoleModel({ turns: turns?.state, others: others?.state, isNew }), upTo };
}

function earlier(turns: ReadUpTo | undefined, others: ReadUpTo | undefined, topic: Topic): readonly number[] {
  const offsets = others?.[topic] ?? [];
  // turns do not depend on dead letters
  if (topic === 'dead-letters') return offsets;
  return offsets.map((offset, partition) => Math.min(offset, turns?.[topic]?.[partition] ?? 0));
}

const withoutLetters = (upTo: ReadUpTo): ReadUpTo =>
  Object.fromEntries(Object.entries(upTo).filter(([topic]) => topic !== 'dead-letters'));

/** A part whose stored state goes further than the reader has come has read up to there. */
const further = (reader: ReadUpTo, stored: ReadUpTo | undefined): ReadUpTo =>
  Object.fromEntries(
    Object.entries(reader).map(([topic, offsets]) => [
      topic,
      offsets.map((offset, partition) => Math.max(offset, stored?.[topic as Topic]?.[partition] ?? 0)),
    ]),
  );
