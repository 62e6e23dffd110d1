import { HubApiError } from '@huggingface/hub';
import type { HubSettings } from './config.ts';
import type { HubId } from './hub-id.ts';

/** Thrown when asking the hub again would change nothing; `message` says what a person can do. */
export class HubRefused extends Error {
  override readonly name = 'HubRefused';
}

/** Thrown when the hub cannot be reached, or breaks off time and again. What came so far is kept. */
export class HubUnreachable extends Error {
  override readonly name = 'HubUnreachable';
}

/** Whether the hub said no, rather than that something is out of order for now. */
export const isRefusedByHub = (error: unknown): error is HubApiError =>
  error instanceof HubApiError && error.statusCode < 500 && ![408, 429].includes(error.statusCode);

/** A full disk or a folder that cannot be written to: no fault of the hub's. */
export const isOfThisMachine = (error: unknown): boolean => {
  const { path, code = '' } = error as NodeJS.ErrnoException;
  return path !== undefined || ['ENOSPC', 'EDQUOT', 'EIO'].includes(code);
};

/** What the hub's answer means for the person who named the model. */
export function refusalOf(
  { statusCode }: HubApiError,
  hub: HubSettings,
  { id, revision }: HubId,
): HubRefused {
  const page = `${hub.url}/${id}`;
  if (statusCode === 404)
    return new HubRefused(`the hub has no model ${id} with a revision ${revision}: see ${page}`);
  if (statusCode !== 401 && statusCode !== 403)
    return new HubRefused(`the hub answers ${statusCode} when asked for ${id}: see ${page}`);
  return new HubRefused(
    hub.token === undefined
      ? `${id} is gated, private or not there: accept its conditions at ${page}, make a token at ` +
          `${hub.url}/settings/tokens, and set CLAWLOOP_HUB_TOKEN to it`
      : `the token in use has no access to ${id}: accept its conditions at ${page} with the account of the ` +
          'token, or set CLAWLOOP_HUB_TOKEN to another',
  );
}

export const unreachable = (hub: HubSettings, { id }: HubId, cause: unknown): HubUnreachable =>
  new HubUnreachable(
    `${id} cannot be fetched from ${hub.url} (${reasonOf(cause)}); what came so far is kept. Try again, or ` +
      'give --model a folder',
    { cause },
  );

/** fetch says `fetch failed` and keeps the reason to itself. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
