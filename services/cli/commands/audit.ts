import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { isLogError, type LogErrorName } from '../../../shared/log/errors.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { visibleLine } from '../../../shared/runtime/terminal.ts';
import { auditLog, type LogReport } from '../audit/audit-log.ts';
import { auditDeep } from '../audit/deep.ts';
import {
  type ChainReport,
  headsTable,
  type NotedHeads,
  readNotedHeads,
  verifyChains,
} from '../audit/verify-chains.ts';
import type { Command } from '../command.ts';
import { spanOf } from '../moment.ts';
import { readOptions } from '../options.ts';

/** Longer than the deadline for votes and the idle time that ends a session. */
const OVERDUE_AFTER = '48h';

const BROKEN = 1;
/** Something is overdue, or the log cannot be read to its end. */
const UNSETTLED = 2;

/** Errors that stop the audit before the end of the log. */
const unreadable: readonly LogErrorName[] = ['LogUnavailable', 'NewerSchema', 'BrokenRecord', 'RecordGone'];

export const audit: Command = {
  name: 'audit',
  usage: '[--overdue-after SPAN] [--heads FILE] [--json] | --deep',
  about: 'check that the log is complete and consistent; exit 1 if not, 2 if undecided',
  details: [
    [
      '--overdue-after SPAN',
      `report obligations older than this (90m, 12h, 3d) as overdue, exit 2; default ${OVERDUE_AFTER}`,
    ],
    ['--heads FILE', 'compare with the chain heads in FILE, the output of an earlier --json'],
    ['--deep', 'instead, fold everything again from the first record and compare events and rows'],
    ['--json', 'print counts, chain heads, open, overdue and broken items as one JSON object'],
  ],
  run: async (argv) => {
    const { values, settings } = readOptions(argv, {
      'overdue-after': { type: 'string' },
      heads: { type: 'string' },
      json: { type: 'boolean' },
      deep: { type: 'boolean' },
    });
    if (values.deep) {
      const conflict = (['overdue-after', 'heads', 'json'] as const).find(
        (name) => values[name] !== undefined,
      );
      if (conflict !== undefined) throw new UsageError(`--deep does not take --${conflict}`);
      await withLog(settings, async () => undefined); // refuses unless there is a log that opens
      return auditDeep(argv.filter((word) => word !== '--deep'));
    }
    const limit = limitOf(values['overdue-after']);
    const noted = values.heads === undefined ? undefined : await readNotedHeads(values.heads);
    return auditOf(settings, { limit, noted, asJson: values.json ?? false });
  },
};

type Limit = { readonly text: string; readonly ms: number };

/** @throws UsageError unless the text is a span such as 48h */
const limitOf = (text = OVERDUE_AFTER): Limit => ({ text, ms: spanOf(text, '--overdue-after') });

type AuditOptions = {
  readonly limit: Limit;
  readonly noted: NotedHeads | undefined;
  readonly asJson: boolean;
};

/** Audits the configured log and prints the report. @returns the exit code */
async function auditOf(settings: CliConfig, { limit, noted, asJson }: AuditOptions): Promise<number> {
  return withLog(settings, async (log) => {
    try {
      const chains = await verifyChains(log, noted);
      const audited = await auditLog(log, limit.ms);
      const report = { ...audited, broken: [...chains.broken, ...audited.broken] };
      const { heads, outdated } = chains;
      if (asJson) console.log(JSON.stringify({ logId: log.logId, ...report, heads, outdated }, null, 2));
      else print(log.logId, report, chains, limit.text);
      return report.broken.length > 0 ? BROKEN : report.overdue.length + outdated.length > 0 ? UNSETTLED : 0;
    } catch (error) {
      if (!unreadable.some((name) => isLogError(error, name))) throw error;
      console.error(`cannot decide: ${(error as Error).message}`);
      return UNSETTLED;
    }
  });
}

/** Audits a restored log, and compares its chains with the heads that its point noted. @returns the exit code */
export const auditRestored = (settings: CliConfig, noted: NotedHeads): Promise<number> =>
  auditOf(settings, { limit: limitOf(), noted, asJson: false });

function print(logId: string, report: LogReport, chains: ChainReport, limit: string): void {
  const { counts, open, broken, overdue, trimmed, uncovered, erasures } = report;
  const rows = Object.entries(counts).map(([name, count]) => [name, count]);
  const window = Object.entries(trimmed).map(
    ([topic, starts]) =>
      `${topic} before ${starts.map((start, partition) => `${partition}@${start}`).join(', ')}`,
  );
  console.log(
    `log ${logId}, ${window.length === 0 ? 'complete from its first record' : `trimmed: ${window.join('; ')}`}`,
  );
  console.log(`\n${formatTable(['', 'count'], rows)}\n`);
  console.log(`${headsTable(chains)}\n`);
  for (const [what, count] of Object.entries(open))
    if (count > 0) console.log(`still open, ${what}: ${count}`);
  if (uncovered > 0)
    console.log(`not checked: ${uncovered} references to records that may have been trimmed`);
  for (const erasure of erasures) console.log(erasureLine(erasure));
  for (const head of chains.outdated) console.log(`OUTDATED  ${head}`);
  const [oldest] = overdue;
  if (oldest !== undefined) {
    const since = new Date(oldest.since).toISOString();
    console.log(
      `OVERDUE  ${overdue.length} open for more than ${limit}; oldest, since ${since}: ${oldest.what}`,
    );
  }
  for (const violation of broken) console.log(`BROKEN  ${violation}`);
  console.log(broken.length === 0 ? 'balances' : `violations: ${broken.length}`);
}

const erasureLine = ({
  time,
  by,
  reason,
  scope,
  name,
  records,
  rows,
}: LogReport['erasures'][number]): string =>
  visibleLine(
    `erased on ${time} by ${by}: ${records} records and ${rows} rows of ${scope} ${name}${reason === undefined ? '' : ` (${reason})`}`,
  );
