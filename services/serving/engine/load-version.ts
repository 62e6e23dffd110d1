import { readServed, type ServedCheckpoint } from '../../../shared/policy/checkpoint-store-served.ts';
import { inPieces } from '../../../shared/policy/pieces.ts';
import type { Adapter, Policy } from '../../../shared/policy/policy.ts';
import type { AdapterSource, PolicyVersion } from './engine.ts';

/** A version that has numbers of its own. */
export type SourcedVersion = { readonly version: number; readonly adapter: AdapterSource };

/**
 * Reads the numbers that were promoted, or none: what stands in the log decides, not what lies on the disk.
 * Rejects when the checkpoint cannot be used with the base model.
 *
 * @param baseDigest of the model that is served; undefined: it is not on this machine
 */
export async function readPromoted(
  { version, adapter }: SourcedVersion,
  baseDigest: Promise<string> | undefined,
): Promise<ServedCheckpoint> {
  const served = await readServed(adapter.folder);
  const { state } = served;
  if (state.digest !== adapter.digest) {
    throw new Error(`${adapter.folder} holds other numbers than version ${version} had when it was promoted`);
  }
  if (baseDigest !== undefined && state.baseDigest !== (await baseDigest)) {
    throw new Error(
      `it was trained on ${state.model}, and what is loaded is another model or another commit of it; ` +
        `start with --model ${state.model}, or leave what was learned with \`clawloop policy rollback 0\``,
    );
  }
  return served;
}

/**
 * Loads the numbers that were promoted. Weights of a whole model come layer by layer, and answers go on
 * between two of them.
 *
 * @param baseDigest of the model that is loaded
 * @returns rejects when the checkpoint cannot be used with it
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
