import type { CheckpointState } from '../../shared/policy/checkpoint-store-state.ts';

/** Why a version says nothing on the model that is loaded; undefined: it was trained on that very one. */
export function otherBase(
  trained: Pick<CheckpointState, 'model' | 'baseDigest'>,
  loaded: { readonly model: string; readonly digest: string },
): string | undefined {
  if (trained.baseDigest === loaded.digest) return undefined;
  return trained.model === loaded.model
    ? `it was trained on another ${trained.model} than the one that is there now`
    : `it was trained on ${trained.model}, not on ${loaded.model}: give --model ${trained.model}`;
}
