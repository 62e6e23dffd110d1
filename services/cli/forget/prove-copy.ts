import type { CliConfig } from '../../../shared/config/cli.ts';
import type { WordsErased } from '../../../shared/events/words-erased.ts';
import type { ChainHead } from '../../../shared/log/chain.ts';
import { readErasures } from '../../../shared/log/erasures.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { StillLog } from '../../../shared/log/kafka/still-log.ts';
import { eventsOf } from '../../../shared/log/kafka/told-trims.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { auditLog } from '../audit/audit-log.ts';
import { verifyChains } from '../audit/verify-chains.ts';

/** A copy that is checked; `settings` are those of the old log. */
export type CopyPlace = {
  readonly settings: CliConfig;
  readonly data: DataFolder;
  /** prefix of the copy */
  readonly into: string;
};

/**
 * Proves that a copy has every record of the old log, with no other change than its last erasure, and that it balances.
 * Both logs are read again: the chains of the old one have to be those that the erasure replaced, or those of the copy.
 *
 * @returns the event of the erasure
 * @throws Refusal with what is wrong
 */
export async function proveCopy(old: StillLog, { settings, data, into }: CopyPlace): Promise<WordsErased> {
  const log = await openLog({ ...settings, kafkaPrefix: into }, data, { anyRetention: true });
  try {
    if (log.logId !== old.logId) throw unproven(into, 'they hold another log');
    const erasure = await lastErasure(old, log);
    if (erasure === undefined) throw unproven(into, 'they hold no erasure of this log');
    const heads = await old.heads();
    const { broken, outdated } = await verifyChains(log, {
      logId: old.logId,
      heads: [...heads, ...headsAfter(heads, erasure)],
    });
    const [why] = [...broken, ...outdated];
    if (why !== undefined) throw unproven(into, why);
    const [violation] = (await auditLog(log, Number.POSITIVE_INFINITY)).broken;
    if (violation !== undefined) throw unproven(into, `clawloop audit says: ${violation}`);
    return erasure;
  } finally {
    await log.close();
  }
}

const unproven = (into: string, why: string): Error =>
  new Refusal(
    `the topics of ${into} are not a complete copy of this log as it is now: ${why}. Nothing was deleted. ` +
      'Give another --into-prefix for a new copy',
  );

/** The erasure that the copy has and the old log has not. */
async function lastErasure(old: StillLog, log: EventLog): Promise<WordsErased | undefined> {
  const before = new Set<string>();
  const types = new Set(['words.erased']);
  for await (const { id } of eventsOf({ ranges: old.ranges, records: old.recordsIn }, 'dead-letters', types))
    before.add(id);
  return (await readErasures(log)).find(({ id }) => !before.has(id));
}

/** The heads that the erasure gave to the chains that it rewrote. */
const headsAfter = (heads: readonly ChainHead[], { data }: WordsErased): readonly ChainHead[] =>
  data.chains.map(({ topic, partition, to, after }) => {
    const old = heads.find((head) => head.topic === topic && head.partition === partition);
    return { topic, partition, from: old?.from ?? 0, to, head: after };
  });
