import type { CheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { storeUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { TrainerError } from './errors.ts';

/** Version numbers and lineage are meaningful only in the checkpoints' own log. @throws FOREIGN_CHECKPOINTS */
export async function checkCheckpoints(
  store: Pick<CheckpointStore, 'folder' | 'list'>,
  logId: string,
): Promise<void> {
  const foreign = (await store.list()).find(({ state }) => state.logId !== logId);
  if (foreign === undefined) return;
  const { name, state } = foreign;
  throw TrainerError.FOREIGN_CHECKPOINTS({ name, folder: store.folder, found: state.logId, expected: logId });
}

/** A bucket that is new takes what the folder has, so that other hosts find the head. @throws StoreUnavailable */
export async function moveIntoBucket(
  folder: Pick<CheckpointStore, 'list'>,
  store: Pick<CheckpointStore, 'problem'>,
): Promise<void> {
  if ((await folder.list()).length === 0) return;
  const problem = await store.problem(true);
  if (problem !== undefined) throw storeUnavailable(problem);
}
