import type { EventLog } from '../../shared/log/event-log.ts';
import { ledger, startedMany } from './event-log-fixtures.ts';

/**
 * A process that uses a log, for tests that kill, stop and continue it: `node event-log-member.ts '<json of
 * MemberTask>'`. Prints a line for each finished action; ends on SIGTERM.
 */
export type MemberTask = {
  /** Module that exports `openLog(connection)`. */
  readonly opener: string;
  readonly connection: unknown;
  readonly task:
    | { readonly kind: 'process'; readonly group: string; readonly label: string }
    | {
        readonly kind: 'append';
        readonly count: number;
        readonly lanes: number;
        readonly from: number;
        readonly batch: number;
      };
};

const { opener, connection, task } = JSON.parse(process.argv[2]!) as MemberTask;
const { openLog } = (await import(opener)) as { openLog: (connection: unknown) => Promise<EventLog> };
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const say = (line: string) => void process.stdout.write(`${line}\n`);

const log = await openLog(connection);
say('open');
if (task.kind === 'process') {
  const owed = () => say('progress');
  await log.process(ledger, { group: task.group, settings: { label: task.label }, owed }, stop.signal);
} else {
  const { count, lanes, from, batch } = task;
  for (let done = 0; done < count && !stop.signal.aborted; done += batch) {
    await log.append(startedMany(Math.min(batch, count - done), lanes, from + done));
    say(`appended ${Math.min(done + batch, count)}`);
  }
}
await log.close();
say('closed');
