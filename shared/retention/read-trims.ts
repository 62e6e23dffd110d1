import { LogTrimmed } from '../events/log-trimmed.ts';
import type { EventLog } from '../log/event-log.ts';
import { readTopic } from '../log/read-topic.ts';

/** All trims that were recorded, also those that were not carried out. */
export async function readTrims(log: Pick<EventLog, 'follow' | 'ends'>): Promise<readonly LogTrimmed[]> {
  const trims: LogTrimmed[] = [];
  await readTopic(
    log,
    'dead-letters',
    ({ event }) => {
      if (event.type === 'log.trimmed') trims.push(event);
    },
    new Set([LogTrimmed.type]),
  );
  return trims;
}
