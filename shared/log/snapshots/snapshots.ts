import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { writeDurably } from '../../runtime/write-durably.ts';
import type { EventLog } from '../event-log.ts';
import { heldStarts, type ReadUpTo, readSoFar, stillHolds } from './read-so-far.ts';
import { contentOf, type ReadTopics, snapshotText } from './snapshot-text.ts';

/** A view whose state can be stored. Raise `version` whenever the same records would give another state. */
export type SnapshotKind<State> = {
  readonly name: string;
  readonly version: number;
  readonly state: z.ZodType<State>;
  /** It also goes on when the log lost its first records, as a view does that is open during a trim. */
  readonly outlivesTrims?: true;
};

/** The state of a view after it has read the log up to these offsets. */
type Snapshot<State> = { readonly upTo: ReadUpTo; readonly state: State };

/**
 * States of views, stored in files so that a start reads only newer records. The log stays the only truth: without
 * a file, or with one that does not fit, the view reads the log from its beginning.
 */
export type Snapshots = {
  /** Undefined: there is none that fits this log, this view and its version. */
  readonly load: <State>(kind: SnapshotKind<State>) => Promise<Snapshot<State> | undefined>;
  /** Takes the state before it returns. False: not stored; a later one may be. */
  readonly save: <State>(kind: SnapshotKind<State>, snapshot: Snapshot<State>) => Promise<boolean>;
};

type Options = {
  readonly folder: string;
  readonly log: Pick<EventLog, 'logId' | 'read' | 'ends' | 'starts'>;
};

export function openSnapshots({ folder, log }: Options): Snapshots {
  const pathOf = (name: string) => join(folder, `${name}.snapshot`);
  const labelOf = ({ name, version }: SnapshotKind<unknown>) => ({ name, version, logId: log.logId });
  return {
    load: async (kind) => {
      const text = await readFile(pathOf(kind.name), 'utf8').catch(() => '');
      const content = contentOf(text, labelOf(kind));
      if (content === undefined) return undefined;
      const state = kind.state.safeParse(content.state);
      // a log that does not answer, or that a newer program writes, is not worse read from its beginning
      const holds = kind.outlivesTrims
        ? heldStarts(log, content.read).then((starts) => starts !== undefined)
        : stillHolds(log, content.read);
      const fits = (await holds.catch(() => false)) && state.success;
      return fits ? { upTo: upToOf(content.read), state: state.data } : undefined;
    },
    save: async (kind, { upTo, state }) => {
      const taken = JSON.stringify(state); // the view may go on meanwhile
      const read = await readSoFar(log, upTo);
      if (read === undefined) return false;
      // Only in a data folder that exists: a reader must not create one.
      await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await writeDurably(pathOf(kind.name), snapshotText(labelOf(kind), read, taken));
      return true;
    },
  };
}

const upToOf = (read: ReadTopics): ReadUpTo =>
  Object.fromEntries(
    Object.entries(read).map(([topic, partitions]) => [topic, partitions.map(({ to }) => to)]),
  );
