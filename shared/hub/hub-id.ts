import { existsSync } from 'node:fs';
import { isShipped } from '../policy/model/model-folder.ts';

/** A model on the hub: `owner/name`, at a branch, tag or commit. */
export type HubId = { readonly id: string; readonly revision: string };

const pattern = /^(?<id>[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*)(?:@(?<revision>[A-Za-z0-9][\w.-]*))?$/;

/**
 * Parses `HuggingFaceTB/SmolLM2-135M-Instruct` or `...@revision`. Undefined for local models: claw-nano, a path,
 * or a folder of that name, which takes precedence.
 */
export function hubIdOf(model: string): HubId | undefined {
  if (isShipped(model) || existsSync(model)) return undefined;
  const { id, revision = 'main' } = pattern.exec(model)?.groups ?? {};
  return id === undefined ? undefined : { id, revision };
}
