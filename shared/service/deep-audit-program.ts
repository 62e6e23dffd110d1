import { type AuditedFold, deepAudit, type FoldReport } from '../log/deep-audit.ts';
import { isLogError } from '../log/errors.ts';
import { monotonicNow } from './clock.ts';
import { CommonConfig, loadConfig } from './config.ts';
import { dataFolder } from './data-folder.ts';
import { LogConfig } from './log-config.ts';
import { openLog } from './open-log.ts';
import { keepFilesPrivate, refuseForeignFolder } from './private-folder.ts';
import { isRefusal } from './refusal.ts';
import { guardTerminal } from './terminal.ts';

/** ms between two lines of progress */
const PROGRESS_MS = 3_000;
/** differences of one fold that are named */
const SHOWN = 5;

const SAME = 0;
const DIFFERENT = 1;
const CANNOT_TELL = 2;

const DeepAuditConfig = CommonConfig.pick({ dataFolder: true }).extend(LogConfig.shape);

const say = (line: string) => void process.stderr.write(`${line}\n`);

/** The whole program of one service: `clawloop audit --deep` runs it. Resolves to the exit code. */
export async function runDeepAudit(folds: readonly AuditedFold[]): Promise<number> {
  keepFilesPrivate();
  for (const stream of [process.stdout, process.stderr]) guardTerminal(stream);
  try {
    const config = loadConfig('cli', DeepAuditConfig).values;
    const data = dataFolder(config.dataFolder);
    await refuseForeignFolder(data.root);
    const log = await openLog(config, data, { anyRetention: true });
    try {
      const reports = await deepAudit(log, folds, progress(say, monotonicNow));
      for (const report of reports) process.stdout.write(`${linesOf(report).join('\n')}\n`);
      return exitCodeOf(reports);
    } finally {
      await log.close();
    }
  } catch (error) {
    const { message, stack = message } = error as Error;
    const isKnown = isRefusal(error) || isLogError(error, 'LogUnavailable');
    process.stderr.write(`cannot tell: ${isKnown ? message : stack}\n`);
    return CANNOT_TELL;
  }
}

function exitCodeOf(reports: readonly FoldReport[]): number {
  if (reports.some(({ differences }) => differences.length > 0)) return DIFFERENT;
  return reports.some(({ unknown }) => unknown.length > 0) ? CANNOT_TELL : SAME;
}

function linesOf({ group, records, setAside, facts, rows, differences, unknown }: FoldReport): string[] {
  const aside = setAside === 0 ? '' : `, ${setAside} set aside`;
  const more = differences.length - SHOWN;
  return [
    `${group}: ${records} records folded${aside}; ${facts} facts and ${rows} rows compared; ` +
      `differences: ${differences.length}`,
    ...differences.slice(0, SHOWN).map((difference) => `DIFFERENT  ${difference}`),
    ...(more > 0 ? [`           and ${more} more`] : []),
    ...unknown.map((why) => `CANNOT TELL  ${group}: ${why}`),
  ];
}

/** A line now and then, none where all is done before the first would come. */
export function progress(
  say: (line: string) => void,
  now: () => number,
): (group: string, records: number) => void {
  let told = now();
  return (group, records) => {
    const time = now();
    if (time - told < PROGRESS_MS) return;
    told = time;
    say(`${group}: ${records} records folded so far`);
  };
}
