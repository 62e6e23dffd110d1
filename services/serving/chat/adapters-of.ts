import type { Caller } from '../access.ts';
import { ServingError } from '../errors.ts';
import type { Session } from '../rl/session-table.ts';

/**
 * The adapters that a caller may ask, the one that is meant unless told first: a key's own alone, all for a
 * key that names none; in a session the one that it was opened with.
 *
 * @param served in the order of the settings
 * @throws ServingError KEY_OF_ANOTHER_ADAPTER
 */
export function adaptersOf(
  { adapter }: Pick<Caller, 'adapter'>,
  session: Pick<Session, 'adapter'> | undefined,
  served: readonly string[],
): readonly string[] {
  const only = session?.adapter ?? adapter;
  if (only === undefined) return served;
  refuseUnserved(only, served);
  return [only];
}

/** @throws ServingError KEY_OF_ANOTHER_ADAPTER */
export function refuseUnserved(adapter: string, served: readonly string[]): void {
  if (!served.includes(adapter)) throw ServingError.KEY_OF_ANOTHER_ADAPTER({ adapter });
}
