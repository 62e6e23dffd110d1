import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { topics } from '../../../shared/events/define-event.ts';
import type { ChainHead } from '../../../shared/log/chain.ts';
import { notedSince, readErasures } from '../../../shared/log/erasures.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { chainOf } from '../../../shared/log/verify-chain.ts';
import { readTrims } from '../../../shared/retention/read-trims.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { formatTable } from '../../../shared/runtime/table.ts';

/** The output of an earlier `clawloop audit --json`, or any object with its heads. */
const notedFile = z.object({
  logId: z.string(),
  heads: z.array(
    z.object({
      topic: z.enum(topics),
      partition: z.int().min(0),
      from: z.int().min(0),
      to: z.int().min(0),
      head: z.string(),
    }),
  ),
});
export type NotedHeads = z.output<typeof notedFile>;

/** @throws UsageError when the file cannot be read or has no heads */
export async function readNotedHeads(path: string): Promise<NotedHeads> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`--heads: ${error.message}`);
  });
  try {
    return notedFile.parse(JSON.parse(text));
  } catch (error) {
    throw new UsageError(`${path} has no chain heads of an audit: ${(error as Error).message}`);
  }
}

export type ChainReport = {
  /** to keep in a safe place */
  readonly heads: readonly (ChainHead & { readonly records: number })[];
  /** one sentence per violation */
  readonly broken: readonly string[];
  /** noted heads that an erasure replaced, so that nothing can be compared with them */
  readonly outdated: readonly string[];
};

/** Recomputes every partition's chain. @throws LogUnavailable */
export async function verifyChains(
  log: Pick<EventLog, 'verify' | 'logId' | 'follow' | 'ends'>,
  noted?: NotedHeads,
): Promise<ChainReport> {
  const since = notedSince(noted?.heads ?? [], noted === undefined ? [] : await readErasures(log));
  const trims = (await readTrims(log)).map(chainOf);
  const verified = (
    await Promise.all(topics.map((topic) => log.verify(topic, since.comparable, trims)))
  ).flat();
  const broken = verified.flatMap(({ topic, partition, broken: at }) =>
    at === undefined ? [] : [`${topic}/${partition}, offsets ${at.from} to ${at.to}: ${at.why}`],
  );
  const isOtherLog = noted !== undefined && noted.logId !== log.logId;
  return {
    heads: verified.map(({ broken: _, ...head }) => head),
    outdated: since.outdated,
    broken: isOtherLog ? [`the noted heads are of another log, ${noted.logId}`, ...broken] : broken,
  };
}

export const headsTable = ({ heads }: ChainReport): string =>
  formatTable(
    ['chain', 'records', 'from', 'to', 'head'],
    heads
      .filter(({ records }) => records > 0)
      .map(({ topic, partition, records, from, to, head }) => [
        `${topic}/${partition}`,
        records,
        from,
        to,
        head,
      ]),
  );
