import type { CliConfig } from '../../../shared/config/cli.ts';
import { openForRewriting, readContents } from '../../../shared/log/sqlite/log-rewrite.ts';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { erase } from './erase.ts';
import {
  type Found,
  find,
  isConfirmed,
  NOT_YET,
  print,
  printDryRun,
  printEarly,
  type Request,
  userName,
  type Wish,
  withdrawOpen,
} from './find.ts';
import { limitLines, nameOf, planLines, waitLines } from './report.ts';

type Place = { readonly settings: CliConfig; readonly data: DataFolder };

const STOP = 'stop the services, then run this command again';

/** Shows what would be erased from the embedded log. */
export const dryRunOnSqlite = async (data: DataFolder, request: Request): Promise<number> =>
  printDryRun(await findBeside(data, request));

/** Erases from the embedded log if nothing else uses the data folder and nothing has to happen first. */
export async function forgetOnSqlite(
  { settings, data }: Place,
  request: Request,
  wish: Wish,
): Promise<number> {
  const done = await eraseAlone(data, request, wish);
  if (typeof done === 'number') return done;
  await withdrawOpen(settings, done.plan);
  return printEarly(done, { isRunning: done.isRunning, stop: STOP });
}

/** Why nothing can be erased now. */
type Early = Found & { readonly isRunning: boolean };

async function eraseAlone(data: DataFolder, request: Request, wish: Wish): Promise<number | Early> {
  const claim = claimFile(data.claim);
  const log = claim === undefined ? undefined : openForRewriting(data.log);
  try {
    if (log === undefined) return { ...(await findBeside(data, request)), isRunning: true };
    const { plan, files } = await find(log, data, request);
    if (waitLines(plan, files).length > 0) return { plan, files, isRunning: false };
    print(planLines(plan, files));
    if (!(await isConfirmed(`Erase ${nameOf(plan.target)}?`, wish))) return NOT_YET;
    const time = utcNow();
    const fact = await erase(log, plan, files, { by: userName(), reason: wish.reason, time });
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
