import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Topic } from '../../events/define-event.ts';
import { parseEvent } from '../../events/parse-event.ts';
import type { ChainHead } from '../chain.ts';
import { chainOf } from '../verify-chain.ts';
import type { LogCut } from './log-cut.ts';
import { chainedRecord } from './messages.ts';

type Records = Pick<LogCut, 'ranges' | 'records'>;

/** The events of these types in a topic. Records that cannot be parsed are left out. */
export async function* eventsOf(
  log: Records,
  topic: Topic,
  types: ReadonlySet<string>,
): AsyncGenerator<ClawLoopEvent> {
  for (const range of log.ranges.filter((one) => one.topic === topic))
    for await (const records of log.records(range))
      for (const record of records) {
        const { type, body } = chainedRecord(record);
        if (!types.has(type)) continue;
        const parsed = parseEvent(body);
        if (parsed.kind === 'event') yield parsed.event;
      }
}

/** The links at the starts of trimmed partitions, as `log.trimmed` recorded them. */
export async function toldTrims(log: Records): Promise<readonly ChainHead[]> {
  const trims: ChainHead[] = [];
  for await (const event of eventsOf(log, 'dead-letters', new Set(['log.trimmed'])))
    if (event.type === 'log.trimmed') trims.push(chainOf(event));
  return trims;
}
