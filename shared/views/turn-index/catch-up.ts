import type { Topic } from '../../events/define-event.ts';
import type { EventLog } from '../../log/event-log.ts';
import { endsOfAll, readToEnd } from '../../log/read-topic.ts';
import type { IndexFile } from './index-file.ts';
import { nothingBesides } from './index-rows.ts';
import { openKeeper } from './keeper.ts';
import { knownRows } from './known-rows.ts';

export type Reading = {
  readonly log: EventLog;
  /** records of one transaction */
  readonly together?: number;
};

/** Reads the records that the index does not hold yet, in transactions, after it has removed what was trimmed. */
export async function catchUp(file: IndexFile, { log, together }: Reading): Promise<void> {
  const ends = await endsOfAll(log);
  const { known, starts } = await knownRows(file, log);
  const keeper = openKeeper({ file, logId: log.logId, known, besides: nothingBesides, together });
  await keeper.forget(starts);
  const from = keeper.upTo();
  for (const [topic, until] of Object.entries(ends) as [Topic, readonly number[]][])
    await readToEnd(log, topic, (record) => keeper.on(record, topic), { from: { ...from[topic] }, until });
  keeper.finish();
}
