import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { feedback, ledger, readTopic, until, untilLevel } from './event-log-fixtures.ts';

/**
 * Runs on a small disk of its own, given as argument: fills it, makes room again, and checks the answers of the log.
 */
const disk = process.argv[2]!;
const ballast = join(disk, 'ballast');
writeFileSync(ballast, Buffer.alloc(3 * 2 ** 20));
const log = await openSqliteLog({ folder: join(disk, 'log') });
const stop = new AbortController();
const done = log.process(ledger, { group: 'ledgers', settings: { label: 'one' } }, stop.signal);

// Random letters, so that compression does not help.
const text = () =>
  Array.from({ length: 50_000 }, () => String.fromCharCode(33 + Math.random() * 90)).join('');
const acknowledged: string[] = [];
let refusal: unknown;
for (let n = 0; refusal === undefined && n < 1_000; n += 1) {
  await log.append([feedback('lane', `before-${n}`, text())]).then(
    () => acknowledged.push(`before-${n}`),
    (error: unknown) => {
      refusal = error;
    },
  );
}
rmSync(ballast);
let again = 0;
await until(async () => {
  again += 1;
  const id = `after-${again}`;
  const worked = await log.append([feedback('lane', id, 'short')]).then(
    () => true,
    () => false,
  );
  if (worked) acknowledged.push(id);
  return worked;
});
await untilLevel(log, 'ledgers');
const present = new Set((await readTopic(log, 'conversations')).map(({ event }) => event.id));
const missing = acknowledged.filter((id) => !present.has(id));
stop.abort();
await done;
await log.close();
const name = (refusal as Error | undefined)?.name;
console.log(
  missing.length === 0 && acknowledged.length > 5
    ? `refused with ${name}, then went on; nothing acknowledged is missing`
    : `missing: ${missing}, refusal: ${refusal}`,
);
