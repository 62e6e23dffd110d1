import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { isLogError } from '../../../../shared/log/errors.ts';
import type { EventLog } from '../../../../shared/log/event-log.ts';
import type { ReadUpTo } from '../../../../shared/log/snapshots/read-so-far.ts';
import type { FoundTurn } from '../../../../shared/views/found-turn.ts';
import {
  columnText,
  damagedIndex,
  type IndexFile,
  type IndexKind,
  isDamagedIndex,
  isIndexFailure,
  openIndexFile,
  openIndexInMemory,
} from '../../../../shared/views/turn-index/index-file.ts';
import { openKeeper } from '../../../../shared/views/turn-index/keeper.ts';
import {
  begin,
  type Known,
  knownRows,
  nothingKnown,
} from '../../../../shared/views/turn-index/known-rows.ts';
import { turnColumns, turnOf } from '../../../../shared/views/turn-index/stored-turn.ts';
import { batchSchema, openBatchRows } from './batch-rows.ts';
import { countSchema, facetCounts, openTurnCounts } from './turn-counts.ts';

/** When it changes, or what is counted, raise `VERSION` in known-rows.ts. */
const kind: IndexKind = {
  // the first index answers every filter without the rows
  schema: `
    CREATE INDEX turns_by_time ON turns (ms, adapter, key, version, live, outcome, verdict);
    CREATE INDEX turns_by_version ON turns (version, ms);
    ${batchSchema}
    ${countSchema}
  `,
  isLogged: true,
};

/** Names of changed turns that wait to be told. */
const MOST_CHANGED = 1_000;

/** Rows of a query. */
export type Ask = (sql: string, ...values: readonly SQLInputValue[]) => readonly Record<string, unknown>[];

/** All turns of the log as rows without texts, the sessions that clients named, batches, and counts. */
export type TurnRows = ReturnType<typeof createTurnRows>;

export function createTurnRows(file: IndexFile = newInMemory(), known: Known = nothingKnown, logId = '') {
  const { db } = file;
  let changed = new Set<string>();
  const noteChanged = (id: string): void => {
    if (changed.size < MOST_CHANGED) changed.add(id);
  };
  const batches = openBatchRows(db);
  const counts = openTurnCounts(db);
  const flush = (): void => {
    batches.flush();
    counts.flush();
  };
  const besides = { ...counts, batches: batches.keyed, trim: batches.trim, flush };
  const keeper = openKeeper({ file, logId, known, besides, changed: noteChanged });
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => {});

  /** The file is of no use after a failure. The next start makes it anew if it is damaged. */
  const guarded = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      if (isDamagedIndex(error)) file.discard();
      if (isIndexFailure(error)) reject(error as Error);
      throw error;
    }
  };
  const prepared = new Map<string, StatementSync>();
  const ask: Ask = (sql, ...values) => {
    const statement = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(...values);
  };
  /** Everything that was passed to `on` is in the rows. */
  const read = <Result>(use: (ask: Ask) => Result): Result =>
    guarded(() => {
      keeper.finish();
      return use(ask);
    });
  return {
    on: (...record: Parameters<typeof keeper.on>): void => guarded(() => keeper.on(...record)),
    read,
    /** Stores what was read. */
    commit: (): void => guarded(keeper.finish),
    /** Stores what was read, and nothing that is read from now on. */
    freeze: (): void =>
      guarded(() => {
        keeper.finish();
        file.freeze();
      }),
    /** Removes the turns and ended sessions that the log no longer holds. @returns whether there were any */
    forget: async (starts: ReadUpTo): Promise<boolean> => {
      try {
        return (await keeper.forget(starts)) > 0;
      } catch (error) {
        return guarded(() => {
          throw error;
        });
      }
    },
    /** By topic, the offset up to which each partition was read. */
    upTo: keeper.upTo,
    /** Rejects when the file cannot be used any more. */
    broken,
    /** Stores what was read, if the file can be used. */
    close: (): void => {
      try {
        keeper.finish();
      } catch (error) {
        if (!isIndexFailure(error)) throw error;
      }
      file.close();
    },
    size: (): number =>
      read((ask) =>
        Number(ask(`SELECT total(turns) AS n FROM ${facetCounts.name} WHERE kind = 'all'`)[0]!.n),
      ),
    turn: (id: string): FoundTurn | undefined =>
      read((ask) => {
        const [row] = ask(`SELECT ${turnColumns} FROM turns WHERE id = ?`, columnText(id));
        return row && turnOf(row);
      }),
    session: (name: string) => guarded(() => keeper.session(name)),
    batch: (id: string) => guarded(() => batches.get(id)),
    batchOf: (adapter: string, n: number) => read(() => batches.ofVersion(adapter, n)),
    /** Ids of the turns that changed since the last call, or some of many. */
    takeChanged: (): ReadonlySet<string> => {
      const taken = changed;
      changed = new Set();
      return taken;
    },
  };
}

/** @throws when a count was changed by anything but this program */
export function checked(rows: readonly Record<string, unknown>[]): readonly Record<string, unknown>[] {
  if (rows.some(({ wrong }) => wrong !== 0)) throw damagedIndex('a count has a wrong sum');
  return rows;
}

function newInMemory(): IndexFile {
  const file = openIndexInMemory(kind);
  file.clear();
  return file;
}

/**
 * Opens the rows that are stored at `path`, without what the log no longer holds. If the file cannot be used, they
 * are made in memory.
 * @throws LogUnavailable
 */
export async function openTurnRows(path: string, log: EventLog): Promise<TurnRows> {
  for (let attempt = 0; attempt < 2; attempt++) {
    let file: IndexFile | undefined;
    try {
      file = await openIndexFile(path, kind);
      return await openRows(file, log);
    } catch (error) {
      if (isDamagedIndex(error)) file?.discard();
      file?.close();
      if (!isIndexFailure(error)) throw error;
      if (!isDamagedIndex(error)) break;
    }
  }
  return openRows(openIndexInMemory(kind), log);
}

async function openRows(file: IndexFile, log: EventLog): Promise<TurnRows> {
  const { known, starts } = await knownRows(file, log).catch(async (error: unknown) => {
    // the last record is of a later program
    if (!isLogError(error, 'NewerSchema')) throw error;
    return { known: await begin(file, log), starts: {} };
  });
  const rows = createTurnRows(file, known, log.logId);
  await rows.forget(starts);
  return rows;
}
