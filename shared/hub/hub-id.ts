import { existsSync } from 'node:fs';
import { CLAW_NANO } from '../policy/model-folder.ts';

/** A model on the hub: `owner/name`, at a branch, tag or commit. */
export type HubId = { readonly id: string; readonly revision: string };

const pattern = /^(?<id>[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?:@(?<revision>[A-Za-z0-9][\w.-]*))?$/;

/**
 * `HuggingFaceTB/SmolLM2-135M-Instruct` or `...@revision`. Undefined where the name means something on this
 * machine: claw-nano, a path, or a folder of just that name, which goes first.
 */
export function hubIdOf(model: string): HubId | undefined {
  if (model === CLAW_NANO || existsSync(model)) return undefined;
  const { id, revision = 'main' } = pattern.exec(model)?.groups ?? {};
  return id === undefined ? undefined : { id, revision };
}
