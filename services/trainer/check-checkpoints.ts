import { listCheckpoints } from '../../shared/policy/checkpoint-store.ts';
import { TrainerError } from './errors.ts';

/** Numbers and lineage of checkpoints mean something in their own log only. @throws FOREIGN_CHECKPOINTS */
export async function checkCheckpoints(store: string, logId: string): Promise<void> {
  const foreign = (await listCheckpoints(store)).find(({ state }) => state.logId !== logId);
  if (foreign === undefined) return;
  const { name, state } = foreign;
  throw TrainerError.FOREIGN_CHECKPOINTS({ name, folder: store, found: state.logId, expected: logId });
}
