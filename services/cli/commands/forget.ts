import { userInfo } from 'node:os';
import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { withdrawalFact } from '../../../shared/lineage/operator-facts.ts';
import type { LogContents } from '../../../shared/log/log-contents.ts';
import { openForRewriting, readContents } from '../../../shared/log/sqlite/log-rewrite.ts';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { type DataFolder, dataFolder } from '../../../shared/runtime/data-folder.ts';
import { logExists } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { erase } from '../forget/erase.ts';
import { type FoundFiles, findFiles } from '../forget/files.ts';
import { type Plan, planErasure } from '../forget/plan.ts';
import { limitLines, nameOf, planLines, waitLines } from '../forget/report.ts';
import { readOptions } from '../options.ts';

/** Nothing was erased: something has to happen first. */
const NOT_YET = 1;

export const forget: Command = {
  name: 'forget',
  usage: 'SESSION|KEY|ID [--key KEY] [--reason TEXT] [--dry-run] [--yes]',
  about: "erase a person's words from the data folder, while the services are stopped",
  details: [
    ['SESSION', 'a session, as clawloop turns list --json shows it'],
    ['KEY', 'the id of an access key: everything that came with it'],
    ['ID', 'an answer: its whole session, since later prompts repeat its words'],
    ['--key KEY', 'the access key of the session, if several have a session of this name'],
    ['--reason TEXT', 'why, recorded in the log'],
    ['--dry-run', 'show what would be erased; may run beside the services'],
    ['--yes', 'erase without confirmation'],
  ],
  run: async (argv) => {
    const { values, words, settings } = readOptions(argv, {
      key: { type: 'string' },
      reason: { type: 'string' },
      'dry-run': { type: 'boolean' },
      yes: { type: 'boolean' },
    });
    const [word, ...more] = words;
    if (word === undefined || word === '' || more.length > 0)
      throw new UsageError('give one session, access key or answer: forget SESSION|KEY|ID');
    refuseKafka(settings);
    const data = dataFolder(settings.dataFolder);
    if (!logExists(settings, data))
      throw new UsageError(`no log in ${data.root}: start ClawLoop there first, or give --data-folder`);
    await refuseForeignFolder(data.root);
    const request = { word, key: values.key };
    if (values['dry-run']) return dryRun(data, request);
    const { reason, yes: isSure = false } = values;
    const done = await eraseAlone(data, request, { reason, isSure });
    if (typeof done === 'number') return done;
    return prepare(settings, done);
  },
};

type Request = { readonly word: string; readonly key: string | undefined };
type Found = { readonly plan: Plan; readonly files: FoundFiles };
/** Why nothing can be erased now. */
type Early = Found & { readonly isRunning: boolean };

function refuseKafka({ log }: Pick<CliConfig, 'log'>): void {
  if (log === 'kafka')
    throw new Refusal(
      'records on Kafka cannot be rewritten, so clawloop forget erases nothing there. Keep the words from training with ' +
        'clawloop turns withdraw, let the topics be deleted by your own means, or start a new log: see docs/operate/erasure.md',
    );
}

async function find(contents: LogContents, data: DataFolder, { word, key }: Request): Promise<Found> {
  const plan = await planErasure(contents, word, key);
  return { plan, files: await findFiles(data, plan.selection, plan.probes) };
}

async function dryRun(data: DataFolder, request: Request): Promise<number> {
  const { plan, files } = await findBeside(data, request);
  const waits = waitLines(plan, files);
  print([
    ...planLines(plan, files),
    ...limitLines(plan, utcNow()),
    ...waits.map((line) => `FIRST  ${line}`),
    'nothing was changed',
  ]);
  return 0;
}

/** Erases if nothing else uses the data folder and nothing has to happen first. */
async function eraseAlone(
  data: DataFolder,
  request: Request,
  { reason, isSure }: { readonly reason: string | undefined; readonly isSure: boolean },
): Promise<number | Early> {
  const claim = claimFile(data.claim);
  const log = claim === undefined ? undefined : openForRewriting(data.log);
  try {
    if (log === undefined) return { ...(await findBeside(data, request)), isRunning: true };
    const { plan, files } = await find(log, data, request);
    if (waitLines(plan, files).length > 0) return { plan, files, isRunning: false };
    print(planLines(plan, files));
    if (!isSure && !(await confirm(`Erase ${nameOf(plan.target)}? There is no way back. [y/N] `))) {
      print(['Nothing was erased.', ...(process.stdin.isTTY ? [] : ['Without a terminal, add --yes.'])]);
      return NOT_YET;
    }
    const time = utcNow();
    const fact = await erase(log, plan, files, { by: userName(), reason, time });
    print([
      fact === undefined
        ? 'the log had no words left; its file was written anew'
        : `erased: ${fact.data.records} records and ${fact.data.rows} rows. clawloop audit --json gives the new chain heads`,
      ...limitLines(plan, time),
    ]);
    return 0;
  } finally {
    log?.close();
    claim?.release();
  }
}

async function findBeside(data: DataFolder, request: Request): Promise<Found> {
  const contents = readContents(data.log);
  try {
    return await find(contents, data, request);
  } finally {
    contents.close();
  }
}

/** Withdraws what may still train, and says what to do before the erasure. */
async function prepare(settings: CliConfig, { plan, files, isRunning }: Early): Promise<number> {
  const { survey } = plan;
  const facts = plan.open
    .filter((turn) => survey.stageOf(turn)?.kind !== 'in-batch' && !survey.withdrawn.has(turn))
    .map((turn) => {
      const { key, lane, adapter } = survey.turns.get(turn)!;
      return withdrawalFact({ interactionId: turn, key, lane, adapter }, undefined, 'clawloop/cli');
    });
  if (facts.length > 0) await withLog(settings, (log) => log.append(facts));
  const waits = waitLines(plan, files);
  print([`${nameOf(plan.target)} is not erased yet`, ...waits]);
  const stop = 'stop the services, then run this command again';
  if (waits.length === 0) print([`the services are running: ${stop}`]);
  else if (isRunning)
    print([`wait until clawloop forget ${plan.target.name} --dry-run shows no line FIRST, ${stop}`]);
  else print([`start the services, wait until --dry-run shows no line FIRST, ${stop}`]);
  return NOT_YET;
}

function print(lines: readonly string[]): void {
  for (const line of lines) console.log(line);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
