import type { EventLog } from '../../shared/log/event-log.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';
import { laterBulk } from './bulk-fold.ts';
import { laterLedger, ledger, startedMany } from './event-log-fixtures.ts';

/**
 * A process that uses a log, for tests that kill, stop and continue it: `node event-log-member.ts '<json of
 * MemberTask>'`. Prints a line for each finished action; ends on SIGTERM.
 */
export type MemberTask = {
  /** Module that exports `openLog(connection)`. */
  readonly opener: string;
  readonly connection: unknown;
  readonly task:
    | {
        readonly kind: 'process';
        readonly group: string;
        readonly label: string;
        /** with the fold of a later release, which migrates the rows */
        readonly isLater?: boolean;
        /** with a fold of many rows, which it migrates; says how many rows of the present shape it found */
        readonly isBulk?: boolean;
      }
    | {
        readonly kind: 'append';
        readonly count: number;
        readonly lanes: number;
        readonly from: number;
        readonly batch: number;
      }
    /** removes everything that nothing needs */
    | { readonly kind: 'trim' };
};

const { opener, connection, task } = JSON.parse(process.argv[2]!) as MemberTask;
const { openLog } = (await import(opener)) as { openLog: (connection: unknown) => Promise<EventLog> };
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const say = (line: string) => void process.stdout.write(`${line}\n`);

const log = await openLog(connection);
say('open');
if (task.kind === 'process') {
  const { group, label, isLater = false, isBulk = false } = task;
  const fold = isLater ? laterLedger : ledger;
  const owed = () => say('progress');
  const bulk = laterBulk((already) => say(`migrating, ${already} are already`));
  await (isBulk
    ? log.process(bulk, { group, settings: null, owed }, stop.signal)
    : log.process(fold, { group, settings: { label }, owed }, stop.signal));
} else if (task.kind === 'trim') {
  const now = Date.now() + 60_000;
  await trimLog(log, { keep: '0s', keepBytes: '', source: 'clawloop/test', now });
  say('trimmed');
} else {
  const { count, lanes, from, batch } = task;
  for (let done = 0; done < count && !stop.signal.aborted; done += batch) {
    await log.append(startedMany(Math.min(batch, count - done), lanes, from + done));
    say(`appended ${Math.min(done + batch, count)}`);
  }
}
await log.close();
say('closed');
