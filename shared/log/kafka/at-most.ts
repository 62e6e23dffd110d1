import { withDeadline } from '../../lang/async.ts';

/**
 * Waits for an orderly shutdown, but no longer than `ms`: a broker that hangs must not delay the end of the
 * service. The broker ends abandoned sessions and transactions itself.
 */
export const atMost = async (ms: number, ending: Promise<unknown>): Promise<void> => {
  await withDeadline(ending, ms, () => {});
};
