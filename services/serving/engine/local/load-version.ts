import { readServed, type ServedCheckpoint } from '../../../../shared/policy/checkpoints/served.ts';
import { inPieces } from '../../../../shared/policy/model/pieces.ts';
import type { Adapter, Policy } from '../../../../shared/policy/model/policy.ts';
import type { AdapterSource, PolicyVersion } from '../../generation.ts';

/** A version with its own weights. */
export type SourcedVersion = { readonly version: number; readonly adapter: AdapterSource };

/**
 * Reads the promoted weights, and only those: the digest in the log decides, not the content of the folder.
 * Rejects if the checkpoint does not belong to the base model.
 *
 * @param baseDigest of the served model; undefined if it is not on this machine
 */
export async function readPromoted(
  { version, adapter }: SourcedVersion,
  baseDigest: Promise<string> | undefined,
): Promise<ServedCheckpoint> {
  const served = await readServed(adapter.folder);
  const { state } = served;
  if (state.digest !== adapter.digest) {
    throw new Error(
      `the weights in ${adapter.folder} are not those that were promoted as version ${version}`,
    );
  }
  if (baseDigest !== undefined && state.baseDigest !== (await baseDigest)) {
    throw new Error(
      `version ${version} was trained on ${state.model}, but another model or another copy of it is loaded; ` +
        `start with --model ${state.model}, or return to the base with \`clawloop policy rollback 0\``,
    );
  }
  return served;
}

/**
 * Loads the promoted weights. Full weights are loaded layer by layer, so that answers continue in between.
 *
 * @param baseDigest of the loaded model
 * @returns rejects if the checkpoint does not belong to that model
 */
export function versionLoader(
  policy: Pick<Policy, 'loadAdapter' | 'loadFull'>,
  baseDigest: Promise<string>,
): (wanted: PolicyVersion) => Promise<Adapter | undefined> {
  return async ({ version, adapter }) => {
    if (adapter === undefined) return undefined;
    const { trained } = await readPromoted({ version, adapter }, baseDigest);
    return 'kind' in trained ? policy.loadAdapter(trained) : inPieces(policy.loadFull(trained));
  };
}
