import { statfs } from 'node:fs/promises';
import { sizeOfFolder } from '../lang/folder-size.ts';
import { sum } from '../lang/numbers.ts';
import type { DataFolder } from './data-folder.ts';

/** Bytes in the data folder by kind. */
export type DiskUse = {
  readonly log: number;
  readonly checkpoints: number;
  /** copies of adapters for an upstream engine */
  readonly adapters: number;
  /** events that the log has not taken yet */
  readonly outbox: number;
  /** answers stored by Idempotency-Key */
  readonly answers: number;
  readonly serviceLogs: number;
  readonly other: number;
  /** null: there is no data folder */
  readonly free: number | null;
  /** bytes that a day adds, by the age of the log; null: too young to tell */
  readonly perDay: number | null;
  /** days until the disk is full at this pace; null: unknown */
  readonly daysLeft: number | null;
};

const DAY_MS = 86_400_000;
/** ms; a younger log says nothing about a day */
const YOUNG_MS = 3_600_000;

/**
 * @param firstTime ms since 1970 of the first record; undefined: the log is empty
 * @param now ms since 1970
 */
export async function diskUse(
  data: DataFolder,
  firstTime: number | undefined,
  now = Date.now(),
): Promise<DiskUse> {
  const [all, log, checkpoints, adapters, outbox, answers, serviceLogs, disk] = await Promise.all([
    sizeOfFolder(data.root),
    sizeOfFolder(data.log),
    sizeOfFolder(data.checkpointsOfAll),
    sizeOfFolder(data.adaptersOfAll),
    sizeOfFolder(data.outbox),
    sizeOfFolder(data.answers),
    sizeOfFolder(data.serviceLogs),
    statfs(data.root).catch(() => undefined),
  ]);
  const known = { log, checkpoints, adapters, outbox, answers, serviceLogs };
  const free = disk === undefined ? null : disk.bavail * disk.bsize;
  const age = firstTime === undefined ? 0 : now - firstTime;
  const perDay = age < YOUNG_MS ? null : (all / age) * DAY_MS;
  const daysLeft = perDay === null || perDay === 0 || free === null ? null : free / perDay;
  return { ...known, other: Math.max(0, all - sum(Object.values(known))), free, perDay, daysLeft };
}
