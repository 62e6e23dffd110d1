import { CommonConfig, loadConfig } from '../config/common.ts';
import { LogConfig } from '../config/log.ts';
import { type AuditedFold, deepAudit, type FoldReport } from '../log/deep-audit.ts';
import { isLogError } from '../log/errors.ts';
import { monotonicNow } from './clock.ts';
import { dataFolder } from './data-folder.ts';
import { openLog } from './open-log.ts';
import { keepFilesPrivate, refuseForeignFolder } from './private-folder.ts';
import { isRefusal } from './refusal.ts';
import { guardTerminal } from './terminal.ts';

/** ms between two lines of progress */
const PROGRESS_MS = 3_000;
/** differences to print per fold */
const SHOWN = 5;

const SAME = 0;
const DIFFERENT = 1;
const UNDECIDED = 2;

const DeepAuditConfig = CommonConfig.pick({ dataFolder: true }).extend(LogConfig.shape);

const printError = (line: string) => void process.stderr.write(`${line}\n`);

/** The deep-audit program of a service, run by `clawloop audit --deep`. Resolves to the exit code. */
export async function runDeepAudit(folds: readonly AuditedFold[]): Promise<number> {
  keepFilesPrivate();
  for (const stream of [process.stdout, process.stderr]) guardTerminal(stream);
  try {
    const config = loadConfig('cli', DeepAuditConfig).values;
    const data = dataFolder(config.dataFolder);
    await refuseForeignFolder(data.root);
    const log = await openLog(config, data, { anyRetention: true });
    try {
      const reports = await deepAudit(log, folds, progress(printError, monotonicNow));
      for (const report of reports) process.stdout.write(`${linesOf(report).join('\n')}\n`);
      return exitCodeOf(reports);
    } finally {
      await log.close();
    }
  } catch (error) {
    const { message, stack = message } = error as Error;
    const isKnown = isRefusal(error) || isLogError(error, 'LogUnavailable');
    process.stderr.write(`cannot decide: ${isKnown ? message : stack}\n`);
    return UNDECIDED;
  }
}

function exitCodeOf(reports: readonly FoldReport[]): number {
  if (reports.some(({ differences }) => differences.length > 0)) return DIFFERENT;
  return reports.some(({ unknown }) => unknown.length > 0) ? UNDECIDED : SAME;
}

function linesOf({ group, records, setAside, facts, rows, differences, unknown }: FoldReport): string[] {
  const rejected = setAside === 0 ? '' : `, ${setAside} rejected`;
  const more = differences.length - SHOWN;
  return [
    `${group}: ${records} records folded${rejected}; ${facts} events and ${rows} rows compared; ` +
      `differences: ${differences.length}`,
    ...differences.slice(0, SHOWN).map((difference) => `DIFFERENT  ${difference}`),
    ...(more > 0 ? [`           and ${more} more`] : []),
    ...unknown.map((why) => `UNDECIDED  ${group}: ${why}`),
  ];
}

/** Prints progress every few seconds; nothing if the audit ends before that. */
export function progress(
  print: (line: string) => void,
  now: () => number,
): (group: string, records: number) => void {
  let printedAt = now();
  return (group, records) => {
    const time = now();
    if (time - printedAt < PROGRESS_MS) return;
    printedAt = time;
    print(`${group}: ${records} records folded so far`);
  };
}
