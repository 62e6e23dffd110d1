import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import { headTypes, openHead } from '../../../shared/lineage/head.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { readToEnd } from '../../../shared/log/read-topic.ts';
import type { Learned } from './plan.ts';

/** Reads what the versions of an adapter learned from. @throws LogUnavailable */
export async function readLearned(log: Pick<EventLog, 'follow'>, adapter: string): Promise<Learned> {
  const head = openHead();
  const batches = new Map<number, BatchSubmitted['data']>();
  const [withdrawn, erased] = [new Set<string>(), new Set<number>()];
  const on = (event: ClawLoopEvent): void => {
    if (event.type === 'words.erased') {
      for (const one of event.data.versions) if (one.adapter === adapter) erased.add(one.version);
      return;
    }
    if (event.subject !== adapter) return;
    head.on(event);
    if (event.type === 'batch.submitted' && !batches.has(event.data.n)) batches.set(event.data.n, event.data);
    if (event.type === 'sample.withdrawn' && event.data.reason !== 'corrected')
      withdrawn.add(turnOfSample(event.data.sampleId));
  };
  const wants = new Set([...headTypes, 'sample.withdrawn']);
  await readToEnd(log, 'training', ({ event }) => on(event), { wants });
  await readToEnd(log, 'dead-letters', ({ event }) => on(event), { wants: new Set(['words.erased']) });
  return { head: head.state(), batches, withdrawn, erased };
}
