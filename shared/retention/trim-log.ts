import type { ClawLoopEvent } from '../events/catalogue.ts';
import { LogTrimmed, trimmableTopics } from '../events/log-trimmed.ts';
import { defined } from '../lang/defined.ts';
import type { EventLog } from '../log/event-log.ts';
import { chainOf } from '../log/verify-chain.ts';
import { type ChosenCut, chooseCut, type WantedCut, wantedCuts } from './choose-cut.ts';
import { findHolds } from './find-holds.ts';
import { limitsOf } from './limits.ts';
import { readTrims } from './read-trims.ts';

/** What stays of each topic, as it was configured; `''`: no limit. */
export type Keep = { readonly keep: string; readonly keepBytes: string };

type TrimOptions = Keep & {
  /** `clawloop/cli` or `clawloop/collector` */
  readonly source: `clawloop/${string}`;
  /** ms since 1970 */
  readonly now: number;
};

/** What a trim would remove now, by the limits and by what must stay. Reads only. */
export async function planTrim(
  log: EventLog,
  { keep, keepBytes, now }: Keep & { readonly now: number },
): Promise<readonly ChosenCut[]> {
  const limits = limitsOf(keep, keepBytes);
  const wanted: WantedCut[] = [];
  for (const topic of trimmableTopics) {
    const limit = limits[topic];
    if (limit === undefined) continue;
    const starts = await log.starts(topic);
    const until =
      limit.maxBytes === undefined && limit.maxAgeMs !== undefined ? now - limit.maxAgeMs : undefined;
    const kept = [];
    for (const [partition, start] of starts.entries())
      kept.push({ topic, partition, start, ...(await log.retention.outline(topic, partition, until)) });
    wanted.push(...wantedCuts(kept, limit, now));
  }
  if (wanted.length === 0) return [];
  const holds = await findHolds(log, wanted);
  return wanted.map((cut) => chooseCut(cut, holds));
}

/**
 * Removes what the limits do not keep and nothing holds. Each cut is recorded before it is made, so a trim that ends
 * early leaves the old or the new start, and a later one goes on.
 * @throws LogUnavailable, OtherRows
 */
export async function trimLog(log: EventLog, options: TrimOptions): Promise<readonly ChosenCut[]> {
  const chosen = await planTrim(log, options);
  await finishTrims(log);
  const trims = chosen.some(({ place }) => place !== undefined) ? await readTrims(log) : [];
  for (const { topic, partition, from, place } of chosen) {
    if (place === undefined) continue;
    const at = { partition, offset: place.offset };
    const last = trims.find(
      ({ data }) => data.topic === topic && data.partition === partition && data.to === from,
    );
    const chain = await log.retention.chainAt(topic, at, last && chainOf(last));
    const { keep, keepBytes } = options;
    const event: ClawLoopEvent = LogTrimmed.create({
      id: `trim/${topic}/${partition}/${place.offset}`,
      source: options.source,
      time: new Date(options.now).toISOString(),
      data: {
        topic,
        partition,
        from,
        to: place.offset,
        before: new Date(place.time).toISOString(),
        bytes: place.bytes,
        chain: { from: chain.from, link: chain.head },
        ...defined({
          keep: keep === '' ? undefined : keep,
          keepBytes: keepBytes === '' ? undefined : keepBytes,
        }),
      },
    });
    await log.append([event]);
    await log.retention.cut(topic, at);
  }
  return chosen;
}

/** Removes what an interrupted trim left: its records are out of reach already, but take space. */
async function finishTrims(log: EventLog): Promise<void> {
  for (const topic of trimmableTopics)
    for (const [partition, offset] of (await log.starts(topic)).entries())
      if (offset > 0) await log.retention.cut(topic, { partition, offset });
}
