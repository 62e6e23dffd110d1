import { isNotFinite, TinkerError } from './errors.ts';
import type { RemoteModel, ServerSequence } from './training-server.ts';

/**
 * Scores with a fresh model. Its adapter has no effect, so a log-prob that is not finite is the server's fault.
 *
 * @returns log p of each response token, nats, [N][T]
 * @throws BROKEN_WEIGHTS
 */
export async function scoreUntrained(
  model: Pick<RemoteModel, 'forward'>,
  sequences: readonly ServerSequence[],
): Promise<readonly Float32Array[]> {
  return model.forward(sequences).catch((error: unknown) => {
    throw isNotFinite(error) ? TinkerError.BROKEN_WEIGHTS() : error;
  });
}
