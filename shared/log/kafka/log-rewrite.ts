import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { ChainHead } from '../chain.ts';
import type { Rewriting } from '../log-contents.ts';
import { foldChangelog, isRowKey, withRead } from './changelog.ts';
import type { KafkaConnectionOptions } from './connection.ts';
import { type StoredRecord, storedRecord } from './fill-partition.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import type { PartitionRange } from './log-cut.ts';
import { openLogRestore } from './log-restore.ts';
import { chainedRecord } from './messages.ts';
import { type GroupRead, openRewrittenRun, type RewrittenRun } from './rewrite-chains.ts';
import { placed, placedRow, type StillLog } from './still-log.ts';
import { toldTrims } from './told-trims.ts';

/** What a rewritten copy of a log will hold. */
export type PlannedCopy = {
  readonly runs: readonly (RewrittenRun & { readonly range: PartitionRange })[];
  /** undefined: nothing changes */
  readonly fact: ClawLoopEvent | undefined;
};

type Copying = {
  readonly rewriting: Rewriting;
  readonly signal: AbortSignal;
};

/** Computes the new chains, and checks the old ones. @throws LogRefused when a chain does not fit its records */
export async function planCopy(log: StillLog, { rewriting, signal }: Copying): Promise<PlannedCopy> {
  const trims = await toldTrims({ ranges: log.ranges, records: log.recordsIn });
  const runs: PlannedCopy['runs'][number][] = [];
  for (const range of log.ranges) {
    const run = openRewrittenRun(range, trims, await readsOf(log, range));
    for await (const some of log.recordsIn(range)) {
      signal.throwIfAborted();
      for (const raw of some) {
        const was = chainedRecord(raw);
        const body = rewriting.record(placed(range, was));
        run.add(was, body === undefined ? was : { ...was, body });
      }
    }
    runs.push({ ...run.end(range.end), range });
  }
  let rows = 0;
  for await (const row of log.rows()) if (rewriting.row(row) !== undefined) rows += 1;
  const chains = runs.flatMap(({ rewritten }) => rewritten ?? []);
  const hasChanged = chains.length > 0 || rows > 0;
  return { runs, fact: hasChanged ? rewriting.fact({ chains, rows }) : undefined };
}

/** What the groups of a topic have read of a partition. */
async function readsOf(log: StillLog, { topic, partition }: PartitionRange): Promise<readonly GroupRead[]> {
  const reads: GroupRead[] = [];
  for (const { group } of log.inputs.filter((one) => one.topic === topic)) {
    const { position, read } = foldChangelog(await log.values(group, partition));
    if (position !== null && read !== null) reads.push({ group, position, read });
  }
  return reads;
}

/**
 * Copies the log to the topics of another prefix: every record at its offset, rows, positions and access keys, as the
 * plan has rewritten them. Until its end no service opens the copy, and another call begins anew.
 *
 * @returns the name of the restore that wrote the copy
 * @throws LogMismatch when the other topics hold a log; LogUnavailable, also when anything wrote to the old ones
 */
export async function copyRewritten(
  log: StillLog,
  to: KafkaConnectionOptions,
  { runs, fact }: PlannedCopy,
  { rewriting, signal }: Copying,
): Promise<string> {
  const { logId, partitions, inputs } = log;
  const restore = await openLogRestore(to, { logId, partitions, groups: inputs, withKeys: true });
  try {
    for (const { range, chain, after } of runs) {
      const { topic, partition, end } = range;
      const head: ChainHead = { topic, partition, from: chain.from, to: end, head: after };
      await restore.partition(range, rewrittenRecords(log, range, { rewriting, signal }), {
        link: chain.link,
        head,
      });
    }
    if (fact !== undefined) await restore.append(fact);
    for (const group of inputs)
      for (let partition = 0; partition < partitions; partition += 1) {
        signal.throwIfAborted();
        const values = await log.values(group.group, partition);
        const run = runs.find(({ range }) => range.topic === group.topic && range.partition === partition);
        const read = run?.reads.get(group.group);
        const rewritten = rewrittenRows(group.group, values, rewriting);
        await restore.rows(group, partition, read === undefined ? rewritten : withRead(rewritten, read));
      }
    await restore.keys(await log.keys());
    await log.requireStill();
    return await restore.finish();
  } finally {
    await restore.close();
  }
}

async function* rewrittenRecords(
  log: StillLog,
  range: PartitionRange,
  { rewriting, signal }: Copying,
): AsyncGenerator<readonly StoredRecord[]> {
  for await (const some of log.recordsIn(range)) {
    signal.throwIfAborted();
    yield some.map((raw) => rewrittenRecord(raw, range, rewriting));
  }
}

function rewrittenRecord(raw: RawMessage, range: PartitionRange, { record }: Rewriting): StoredRecord {
  const body = record(placed(range, chainedRecord(raw)));
  const stored = storedRecord(raw);
  return body === undefined ? stored : { ...stored, value: Buffer.from(body) };
}

function rewrittenRows(
  group: string,
  values: ReadonlyMap<string, string>,
  { row: rewritten }: Rewriting,
): ReadonlyMap<string, string> {
  const kept = new Map<string, string>();
  for (const [key, row] of values) {
    const next = isRowKey(key) ? rewritten(placedRow(group, key, row)) : undefined;
    if (next !== null) kept.set(key, next ?? row);
  }
  return kept;
}
