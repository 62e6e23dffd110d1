import { join } from 'node:path';
import { catchUp, type Reading } from './catch-up.ts';
import {
  type IndexFile,
  type IndexKind,
  isDamagedIndex,
  isIndexFailure,
  openIndexFile,
  openIndexInMemory,
} from './index-file.ts';
import { openQueries, type TurnIndex } from './queries.ts';

/** Indexes for the queries of commands. */
const kind: IndexKind = {
  schema: `
    CREATE INDEX turns_by_time ON turns (ms);
    CREATE INDEX turns_by_adapter ON turns (adapter, ms);
  `,
  isLogged: false,
};

/**
 * Passes the turns and sessions of the log as of now to `use`, and its result on. The index is a file in `folder`: a
 * reader adds the records that are new. If the file cannot be used, the log is read from its beginning into memory.
 * @param use runs while other processes wait for the file
 * @throws LogUnavailable, NewerSchema
 */
export async function withTurnIndex<Result>(
  { folder, ...reading }: Reading & { readonly folder: string },
  use: (index: TurnIndex) => Result,
): Promise<Result> {
  const path = join(folder, 'turns.sqlite');
  try {
    return await onFile(await openIndexFile(path, kind), reading, use);
  } catch (error) {
    if (!isIndexFailure(error)) throw error;
    if (!isDamagedIndex(error)) return onFile(openIndexInMemory(kind), reading, use);
  }
  // a damaged file is gone now
  try {
    return await onFile(await openIndexFile(path, kind), reading, use);
  } catch (error) {
    if (!isIndexFailure(error)) throw error;
    return onFile(openIndexInMemory(kind), reading, use);
  }
}

async function onFile<Result>(
  file: IndexFile,
  reading: Reading,
  use: (index: TurnIndex) => Result,
): Promise<Result> {
  try {
    await catchUp(file, reading);
    return use(openQueries(file.db));
  } catch (error) {
    if (isDamagedIndex(error)) file.discard();
    throw error;
  } finally {
    file.close();
  }
}
