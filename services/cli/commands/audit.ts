import { isLogError, type LogErrorName } from '../../../shared/log/errors.ts';
import { auditLog, type LogReport } from '../audit/audit-log.ts';
import { auditDeep } from '../audit/deep.ts';
import { type ChainReport, headsTable, readNotedHeads, verifyChains } from '../audit/verify-chains.ts';
import { type Command, UsageError } from '../command.ts';
import { spanOf } from '../moment.ts';
import { readOptions } from '../options.ts';
import { formatTable } from '../table.ts';
import { withLog } from '../with-log.ts';

/** Longer than the deadline of votes and than the time after which an idle session ends. */
const OVERDUE_AFTER = '48h';

const BROKEN = 1;
/** Something is open for too long, or the log cannot be read to its end. */
const UNSETTLED = 2;

/** What stops the audit before the end of the log. */
const unreadable: readonly LogErrorName[] = ['LogUnavailable', 'NewerSchema', 'BrokenRecord', 'RecordGone'];

export const audit: Command = {
  name: 'audit',
  usage: '[--overdue-after SPAN] [--heads FILE] [--json] | --deep',
  about:
    'whether the log is whole and everything in it adds up; exit 1 when it does not, 2 when it cannot tell',
  details: [
    [
      '--overdue-after SPAN',
      `what is open for longer is overdue, exit 2: as 90m, 12h or 3d; ${OVERDUE_AFTER} unless told`,
    ],
    ['--heads FILE', 'compares the log with the heads of its chains in FILE: what --json printed earlier'],
    ['--deep', 'folds everything again from the first record instead, and compares facts and rows'],
    ['--json', 'counts, heads of the chains, what is open, overdue and broken, as one object'],
  ],
  run: async (argv) => {
    const { values, settings } = readOptions(argv, {
      'overdue-after': { type: 'string' },
      heads: { type: 'string' },
      json: { type: 'boolean' },
      deep: { type: 'boolean' },
    });
    if (values.deep) {
      const other = (['overdue-after', 'heads', 'json'] as const).find((name) => values[name] !== undefined);
      if (other !== undefined) throw new UsageError(`--deep takes no --${other}`);
      await withLog(settings, async () => undefined); // there is one, and it opens
      return auditDeep(argv.filter((word) => word !== '--deep'));
    }
    const limit = values['overdue-after'] ?? OVERDUE_AFTER;
    const limitMs = spanOf(limit, '--overdue-after');
    const noted = values.heads === undefined ? undefined : await readNotedHeads(values.heads);
    return withLog(settings, async (log) => {
      try {
        const chains = await verifyChains(log, noted);
        const audited = await auditLog(log, limitMs);
        const report = { ...audited, broken: [...chains.broken, ...audited.broken] };
        const { heads } = chains;
        if (values.json) console.log(JSON.stringify({ logId: log.logId, ...report, heads }, null, 2));
        else print(log.logId, report, chains, limit);
        return report.broken.length > 0 ? BROKEN : report.overdue.length > 0 ? UNSETTLED : 0;
      } catch (error) {
        if (!unreadable.some((name) => isLogError(error, name))) throw error;
        console.error(`cannot tell: ${(error as Error).message}`);
        return UNSETTLED;
      }
    });
  },
};

function print(logId: string, report: LogReport, chains: ChainReport, limit: string): void {
  const { counts, open, broken, overdue, trimmed, uncovered } = report;
  const rows = Object.entries(counts).map(([name, count]) => [name, count]);
  const window = Object.entries(trimmed).map(
    ([topic, starts]) =>
      `${topic} from ${starts.map((start, partition) => `${partition}@${start}`).join(', ')} on`,
  );
  console.log(
    `log ${logId}, ${window.length === 0 ? 'from its first record' : `trimmed: ${window.join('; ')}`}`,
  );
  console.log(`\n${formatTable(['', 'count'], rows)}\n`);
  console.log(`${headsTable(chains)}\n`);
  for (const [what, count] of Object.entries(open))
    if (count > 0) console.log(`still open: ${count} ${what}`);
  if (uncovered > 0)
    console.log(`not covered: ${uncovered} references lead to records that may have been trimmed`);
  const [oldest] = overdue;
  if (oldest !== undefined) {
    const since = new Date(oldest.since).toISOString();
    console.log(
      `OVERDUE  ${overdue.length} open for more than ${limit}; the oldest since ${since}: ${oldest.what}`,
    );
  }
  for (const violation of broken) console.log(`BROKEN  ${violation}`);
  console.log(broken.length === 0 ? 'balances' : `${broken.length} violations`);
}
