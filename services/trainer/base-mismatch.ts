import type { CheckpointState } from '../../shared/policy/checkpoints/state.ts';

/** Why a version does not fit the loaded model; undefined: it was trained on that model. */
export function baseMismatch(
  trained: Pick<CheckpointState, 'model' | 'baseDigest'>,
  loaded: { readonly model: string; readonly digest: string },
): string | undefined {
  if (trained.baseDigest === loaded.digest) return undefined;
  return trained.model === loaded.model
    ? `it was trained on a different copy of ${trained.model} from the one installed now`
    : `it was trained on ${trained.model}, not on ${loaded.model}; pass --model ${trained.model}`;
}
