import type { InputEvent } from '../../shared/log/fold.ts';

/**
 * How many samples follow, and when the previous one was appended, ms since 1970. A bare number comes from an
 * earlier program, which did not record the time.
 */
type Coming = number | { readonly following: number; readonly since: number };

/** Sessions with more samples to follow immediately. */
export type ComingSamples = Readonly<Record<string, Coming>>;

/** ms for which samples of one commit wait for each other; they are appended together */
const COMING_MS = 60_000;

export function comingAfter(
  coming: ComingSamples = {},
  session: string,
  { recorded: since }: InputEvent,
  following = 0,
): ComingSamples {
  const { [session]: _, ...others } = coming;
  const more = since === undefined ? following : { following, since };
  return following === 0 ? others : { ...others, [session]: more };
}

/**
 * Stops waiting for samples that never arrive, so that they do not block batches: those that are late, and a rewarded
 * sample whose record was lost. The same object if nothing changes.
 */
export function comingStill(coming: ComingSamples | undefined, event: InputEvent): ComingSamples | undefined {
  const left = notLate(coming, event);
  if (event.type !== 'sample.dropped' || event.data.coming === undefined) return left;
  const { session, following } = event.data.coming;
  return comingAfter(left, session, event, following);
}

function notLate(coming: ComingSamples | undefined, { recorded }: InputEvent): ComingSamples | undefined {
  if (coming === undefined || recorded === undefined) return coming;
  const isLost = (one: Coming) => typeof one === 'number' || recorded - one.since > COMING_MS;
  const left = Object.entries(coming).filter(([, one]) => !isLost(one));
  return left.length === Object.keys(coming).length ? coming : Object.fromEntries(left);
}
