import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { TrainerError } from './errors.ts';

/** Version numbers and lineage are meaningful only in the checkpoints' own log. @throws FOREIGN_CHECKPOINTS */
export async function checkCheckpoints(store: string, logId: string): Promise<void> {
  const foreign = (await openCheckpointStore(store).list()).find(({ state }) => state.logId !== logId);
  if (foreign === undefined) return;
  const { name, state } = foreign;
  throw TrainerError.FOREIGN_CHECKPOINTS({ name, folder: store, found: state.logId, expected: logId });
}
