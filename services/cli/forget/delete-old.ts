import type { KafkaConnectionOptions } from '../../../shared/log/kafka/connection.ts';
import { keyRecordsOf } from '../../../shared/log/kafka/key-records.ts';
import type { Replacement } from '../../../shared/log/kafka/meta.ts';
import { activeMembers, deleteReplaced, leftOf, metaOf } from '../../../shared/log/kafka/replaced-log.ts';
import { openStillLog, type StillLog } from '../../../shared/log/kafka/still-log.ts';
import { kafkaConnection } from '../../../shared/runtime/open-log.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { isConfirmed, NOT_YET, print, type Wish } from './find.ts';
import { PATIENCE_MS } from './on-kafka.ts';
import { type CopyPlace, proveCopy } from './prove-copy.ts';

/**
 * Deletes the topics of a log that was copied without some words, after it has proven again that the copy is complete
 * and balances. The meta topic stays: it has no words, and keeps services from beginning a new log there.
 * @throws Refusal, LogUnavailable
 */
export async function deleteOld(place: CopyPlace, wish: Pick<Wish, 'isSure'>): Promise<number> {
  const { settings, into } = place;
  const from = await kafkaConnection(settings);
  const old = await replacedLog(place, from);
  const who = await activeMembers(from);
  if (who.length > 0) {
    print([`services still use the prefix ${settings.kafkaPrefix}: stop them first`, ...who]);
    return NOT_YET;
  }
  const { topics, isDeleted } = old.replacedBy;
  // Once some are gone, nothing can be proven any more; the proof came before.
  const isBegun = isDeleted && (await leftOf(from, old.replacedBy)).length < topics.length;
  if (!isBegun) {
    await requireProven(place, from);
    print([`the topics of ${into} are a complete copy, and balance. These will be deleted:`, ...topics]);
    if (!(await isConfirmed(`Delete ${topics.length} topics?`, wish))) return NOT_YET;
  }
  await deleteReplaced(from, old);
  print([
    `deleted: ${topics.length} topics. The brokers remove their files after file.delete.delay.ms, one minute by default`,
  ]);
  return 0;
}

type Replaced = { readonly logId: string; readonly replacedBy: Replacement };

/** @throws Refusal unless the old topics say that the copy replaces them, and the copy is that one */
async function replacedLog({ settings, into }: CopyPlace, from: KafkaConnectionOptions): Promise<Replaced> {
  const old = await metaOf(from);
  const replacedBy = old.kind === 'named' ? old.replacedBy : undefined;
  if (old.kind !== 'named' || replacedBy?.prefix !== into)
    throw new Refusal(
      `no erasure has copied the log of the prefix ${settings.kafkaPrefix} to ${into}: run clawloop forget SELECTION --into-prefix ${into} first`,
    );
  const copy = await metaOf(await kafkaConnection({ ...settings, kafkaPrefix: into }));
  if (copy.kind !== 'named' || copy.logId !== old.logId || copy.restore !== replacedBy.restore)
    throw new Refusal(`the topics of ${into} are not the copy that was made: nothing was deleted`);
  return { logId: old.logId, replacedBy };
}

async function requireProven(place: CopyPlace, from: KafkaConnectionOptions): Promise<void> {
  const log = await openStillLog(from, { patienceMs: PATIENCE_MS, signal: new AbortController().signal });
  try {
    await proveCopy(log, place);
    await requireKeys(log, place);
    await log.requireStill();
  } finally {
    await log.close();
  }
}

/** Access keys that were made in the old topics after the copy would be lost. */
async function requireKeys(log: StillLog, { settings, into }: CopyPlace): Promise<void> {
  const copied = await keyRecordsOf(await kafkaConnection({ ...settings, kafkaPrefix: into }));
  const known = new Set(copied.map(({ key }) => key));
  const lost = (await log.keys()).filter(({ key, value }) => value !== null && !known.has(key));
  if (lost.length > 0)
    throw new Refusal(
      `${lost.length} changes of access keys came to the prefix ${settings.kafkaPrefix} after the copy: make them ` +
        `again with --kafka-prefix ${into}, and delete the topics by your own means`,
    );
}
