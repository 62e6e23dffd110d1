import { userInfo } from 'node:os';
import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { withdrawalFact } from '../../../shared/lineage/operator-facts.ts';
import type { LogContents } from '../../../shared/log/log-contents.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { confirm } from '../confirm.ts';
import { type FoundFiles, findFiles } from './files.ts';
import { type Plan, planErasure } from './plan.ts';
import { limitLines, nameOf, planLines, waitLines } from './report.ts';

/** Exit code: nothing was erased, something has to happen first. */
export const NOT_YET = 1;

export type Request = { readonly word: string; readonly key: string | undefined };
export type Found = { readonly plan: Plan; readonly files: FoundFiles };

/** How a command asks, and what it records. */
export type Wish = { readonly reason: string | undefined; readonly isSure: boolean };

export async function find(contents: LogContents, data: DataFolder, { word, key }: Request): Promise<Found> {
  const plan = await planErasure(contents, word, key);
  return { plan, files: await findFiles(data, plan.selection, plan.probes) };
}

/** What a dry run says. */
export function printDryRun({ plan, files }: Found, more: readonly string[] = []): number {
  print([
    ...planLines(plan, files),
    ...more,
    ...limitLines(plan, utcNow()),
    ...waitLines(plan, files).map((line) => `FIRST  ${line}`),
    'nothing was changed',
  ]);
  return 0;
}

/** Whether the user wants it; if not, says that nothing was done. */
export async function isConfirmed(question: string, { isSure }: Pick<Wish, 'isSure'>): Promise<boolean> {
  if (isSure || (await confirm(`${question} There is no way back. [y/N] `))) return true;
  print(['Nothing was erased.', ...(process.stdin.isTTY ? [] : ['Without a terminal, add --yes.'])]);
  return false;
}

/** Withdraws what may still train. */
export async function withdrawOpen(settings: CliConfig, { open, survey }: Plan): Promise<void> {
  const facts = open
    .filter((turn) => survey.stageOf(turn)?.kind !== 'in-batch' && !survey.withdrawn.has(turn))
    .map((turn) => {
      const { key, lane, adapter } = survey.turns.get(turn)!;
      return withdrawalFact({ interactionId: turn, key, lane, adapter }, undefined, 'clawloop/cli');
    });
  if (facts.length > 0) await withLog(settings, (log) => log.append(facts));
}

type Early = {
  readonly isRunning: boolean;
  /** processes of the services, as far as they are known */
  readonly who?: readonly string[];
  /** what to do when nothing is open */
  readonly stop: string;
};

/** Says what to do before the erasure. */
export function printEarly({ plan, files }: Found, { isRunning, who = [], stop }: Early): number {
  const waits = waitLines(plan, files);
  print([`${nameOf(plan.target)} is not erased yet`, ...waits]);
  const dry = `npx clawloop forget ${plan.target.name} --dry-run`;
  if (waits.length === 0)
    print([
      `the services are running, or another command uses the log, such as topics tail --follow: ${stop}`,
      ...who,
    ]);
  else if (isRunning) print([`wait until ${dry} shows no line FIRST, ${stop}`]);
  else print([`start the services, wait until --dry-run shows no line FIRST, ${stop}`]);
  return NOT_YET;
}

export function print(lines: readonly string[]): void {
  for (const line of lines) console.log(line);
}

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
