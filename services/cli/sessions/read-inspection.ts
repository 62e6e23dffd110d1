import type { Topic } from '../../../shared/events/define-event.ts';
import type { EventLog, Heading } from '../../../shared/log/event-log.ts';
import { endsOfAll, readToEnd } from '../../../shared/log/read-topic.ts';
import { packPlace } from '../../../shared/views/place.ts';
import { policyTypes } from '../../../shared/views/policy-view.ts';
import { withTurnIndex } from '../../../shared/views/turn-index/turn-index.ts';
import { type Inspection, inspectSession } from './inspection.ts';

/** Read whatever session they are about: few, and a batch names turns of several sessions. */
const types: ReadonlySet<string> = new Set([
  'session.started',
  'session.opened',
  'session.closed',
  ...policyTypes,
]);

/** Reads what the log says about a session. The index says which records are about its turns. */
export async function readInspection(
  { log, folder }: { readonly log: EventLog; readonly folder: string },
  session: string,
): Promise<Inspection> {
  const places = await withTurnIndex(
    { log, folder },
    (index) => new Set(index.turns({ session }).flatMap(({ row }) => [row.at, ...row.places])),
  );
  const collected = inspectSession(session);
  for (const [topic, until] of Object.entries(await endsOfAll(log)) as [Topic, readonly number[]][])
    await readToEnd(log, topic, (record) => collected.on(record, topic), {
      until,
      wants: ({ type, at }: Heading) => types.has(type) || places.has(packPlace({ topic, ...at })),
    });
  return collected.result();
}
