import { isNotFinite } from '../../../shared/tinker/errors.ts';
import { scoreUntrained } from '../../../shared/tinker/score-untrained.ts';
import type { RemoteModel, RemoteSession, ServerSequence } from '../../../shared/tinker/training-server.ts';
import { TrainerError } from '../errors.ts';
import type { StepStart } from '../trainee.ts';
import { probeMismatch } from './probe.ts';

/** A version keeps the rank and alpha of its parent. */
export function shapeOf({ parent, settings: { rank, alpha } }: StepStart) {
  if (parent === undefined) return { rank, alpha };
  if (parent.adapter.kind !== 'lora') throw new Error('a training server has no full weights');
  const { config } = parent.adapter;
  return { rank: config.rank, alpha: config.alpha };
}

/**
 * A fresh model at the start of the step.
 *
 * @throws PARENT_STATE if the server has another state under its path, or one that is not finite; BROKEN_WEIGHTS
 */
export async function openModel(
  session: RemoteSession,
  start: StepStart,
  probe: ServerSequence,
): Promise<RemoteModel> {
  const create = () => session.createModel({ ...shapeOf(start), seed: start.seed });
  const model = await create();
  const optimizer = start.parent?.optimizer;
  if (optimizer === undefined) {
    await scoreUntrained(model, [probe]);
    return model;
  }
  if (optimizer.kind !== 'remote')
    throw TrainerError.PARENT_STATE({ path: '(none)', detail: 'the parent was trained on this machine' });
  const { path } = optimizer;
  await model.loadState(path);
  const detail = await probeMismatch(model, optimizer.probe).catch(async (error: unknown) => {
    if (!isNotFinite(error)) throw error;
    await model.unload();
    await scoreUntrained(await create(), [probe]);
    return 'its log-probs are not finite';
  });
  if (detail !== undefined) throw TrainerError.PARENT_STATE({ path, detail });
  return model;
}
