import { UsageError } from './command.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A span typed by a person, as 30s, 10m, 2h or 1d: ms. @throws UsageError */
export function spanOf(text: string, what: string): number {
  const span = /^(\d+)([smhd])$/.exec(text);
  if (span === null) throw new UsageError(`${what} is a span (30s, 10m, 2h, 1d), not '${text}'`);
  return Number(span[1]) * unitMs[span[2]!]!;
}

/**
 * A moment typed by a person, ms since 1970: an ISO date or time (without a zone: this machine's), or how
 * long before `now`, as 30s, 10m, 2h or 1d. @throws UsageError
 */
export const momentOf = (text: string, what: string, now: number): number => moment(text, what, now, -1);

/** The same, of how long after `now`. @throws UsageError */
export const momentAhead = (text: string, what: string, now: number): number => moment(text, what, now, 1);

function moment(text: string, what: string, now: number, direction: 1 | -1): number {
  if (/^\d+[smhd]$/.test(text)) return now + direction * spanOf(text, what);
  const named = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(named)) throw new UsageError(`${what} is a span (10m) or a time (ISO), not '${text}'`);
  return named;
}
