import { UsageError } from '../../shared/runtime/command-errors.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time span from the command line, such as 30s, 10m, 2h or 1d, in ms. @throws UsageError */
export function spanOf(text: string, flag: string): number {
  const span = /^(\d+)([smhd])$/.exec(text);
  if (span === null) throw new UsageError(`${flag} takes a time span (30s, 10m, 2h, 1d), not '${text}'`);
  return Number(span[1]) * unitMs[span[2]!]!;
}

/**
 * A moment from the command line, ms since 1970: an ISO date or time (without a zone: local time), or a span
 * before `now`, such as 30s, 10m, 2h or 1d. @throws UsageError
 */
export const momentOf = (text: string, flag: string, now: number): number => moment(text, flag, now, -1);

/** Like `momentOf`, but a span is after `now`. @throws UsageError */
export const momentAhead = (text: string, flag: string, now: number): number => moment(text, flag, now, 1);

function moment(text: string, flag: string, now: number, direction: 1 | -1): number {
  if (/^\d+[smhd]$/.test(text)) return now + direction * spanOf(text, flag);
  const absolute = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(absolute))
    throw new UsageError(`${flag} takes a time span (10m) or an ISO time, not '${text}'`);
  return absolute;
}
