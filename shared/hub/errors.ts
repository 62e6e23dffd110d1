import { HubApiError } from '@huggingface/hub';
import type { HubSettings } from './config.ts';
import type { HubId } from './hub-id.ts';

/** Thrown when a retry would not help; `message` says what to do. */
export class HubRefused extends Error {
  override readonly name = 'HubRefused';
}

/** Thrown when the hub cannot be reached or keeps breaking off. Partial downloads are kept. */
export class HubUnreachable extends Error {
  override readonly name = 'HubUnreachable';
}

/** Whether the hub refused, as opposed to a temporary failure. */
export const isRefusedByHub = (error: unknown): error is HubApiError =>
  error instanceof HubApiError && error.statusCode < 500 && ![408, 429].includes(error.statusCode);

/** Whether the error is local: a full disk or an unwritable folder. */
export const isOfThisMachine = (error: unknown): boolean => {
  const { path, code = '' } = error as NodeJS.ErrnoException;
  return path !== undefined || ['ENOSPC', 'EDQUOT', 'EIO'].includes(code);
};

/** Explains a refusal of the hub to the user. */
export function refusalOf(
  { statusCode }: HubApiError,
  hub: HubSettings,
  { id, revision }: HubId,
): HubRefused {
  const page = `${hub.url}/${id}`;
  if (statusCode === 404)
    return new HubRefused(`the hub has no model ${id} with a revision ${revision}: see ${page}`);
  if (statusCode !== 401 && statusCode !== 403)
    return new HubRefused(`the hub answers with status ${statusCode} for ${id}: see ${page}`);
  return new HubRefused(
    hub.token === undefined
      ? `${id} is gated, private or missing: accept its conditions at ${page}, create a token at ` +
          `${hub.url}/settings/tokens, and set CLAWLOOP_HUB_TOKEN to it`
      : `the token in use has no access to ${id}: accept its conditions at ${page} with the account of the ` +
          'token, or set CLAWLOOP_HUB_TOKEN to another',
  );
}

export const unreachable = (hub: HubSettings, { id }: HubId, cause: unknown): HubUnreachable =>
  new HubUnreachable(
    `${id} cannot be fetched from ${hub.url} (${reasonOf(cause)}); the partial download is kept. Try again, or ` +
      'give --model a folder',
    { cause },
  );

/** fetch only says `fetch failed`; the reason is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
