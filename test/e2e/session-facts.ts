import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ServingFolder } from './serving-process.ts';

/** The events of one session of the protocol, in order, including rewards, which name only the answer. */
export async function sessionFacts(
  folder: ServingFolder,
  session: string,
): Promise<readonly ClawLoopEvent[]> {
  return (await folder.events('conversations')).filter(({ id, data }) =>
    'session' in data ? data.session === session : id.startsWith(`${session}/`),
  );
}
