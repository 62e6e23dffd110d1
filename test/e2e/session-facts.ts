import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ServingFolder } from './serving-process.ts';

/**
 * What the log holds of one session of the protocol, in its order: also the rewards, which name the answer
 * alone.
 */
export async function sessionFacts(
  folder: ServingFolder,
  session: string,
): Promise<readonly ClawLoopEvent[]> {
  return (await folder.events('conversations')).filter(({ id, data }) =>
    'session' in data ? data.session === session : id.startsWith(`${session}/`),
  );
}
