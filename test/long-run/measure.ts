import { readdir, stat } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Given } from '../chaos/services/crowd-record.ts';
import { memoryOf } from '../soak/memory.ts';
import { backupsIn, type LongRunDeployment } from './deployment.ts';
import { type Reading, tableHead, tableRow } from './readings.ts';

const MIB = 2 ** 20;

type Options = {
  readonly deployment: LongRunDeployment;
  readonly hours: number;
  readonly untilHour: (hour: number) => Promise<void>;
  /** Answers so far. */
  readonly given: () => readonly Given[];
  readonly print: (line: string) => void;
};

/** One reading at the end of each simulated hour, printed at once. */
export async function measureHours({
  deployment,
  hours,
  untilHour,
  given,
  print,
}: Options): Promise<readonly Reading[]> {
  const readings: Reading[] = [];
  let seen = 0;
  print(tableHead());
  for (let hour = 1; hour <= hours; hour += 1) {
    await untilHour(hour);
    const all = given();
    const reading = await measure(deployment, hour, all.slice(seen));
    seen = all.length;
    readings.push(reading);
    print(tableRow(reading));
  }
  return readings;
}

/** What is there at the end of an hour; `given`: the answers of that hour. */
async function measure(
  { services, dataFolder, folder }: LongRunDeployment,
  hour: number,
  given: readonly Given[],
): Promise<Reading> {
  const pids = Object.fromEntries(services.map(({ name, pid }) => [name, pid()]));
  const memory = Object.fromEntries(
    Object.entries(await memoryOf(pids)).map(([name, { held }]) => [name, held]),
  );
  const took = given.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const quantile = (q: number) => took[Math.min(took.length - 1, Math.floor(took.length * q))] ?? Number.NaN;
  const [log, checkpoints, backups, all] = await Promise.all(
    [join(dataFolder, 'log'), join(dataFolder, 'checkpoints'), backupsIn(folder), dataFolder].map(sizeOf),
  );
  return {
    hour,
    memory,
    disk: {
      log: log!,
      checkpoints: checkpoints!,
      backups: backups!,
      // keys, answers, outbox, snapshots
      other: all! - log! - checkpoints!,
    },
    answers: took.length,
    medianMs: quantile(0.5),
    p95Ms: quantile(0.95),
    load: loadavg()[0]! / availableParallelism(),
    ...contents(join(dataFolder, 'log', 'log.sqlite')),
  };
}

/** MiB of all files below a folder; files that are removed meanwhile do not count, nor does the ballast of a full disk. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && entry.name !== 'ballast');
  const sizes = files.map((entry) =>
    stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / MIB;
}

/** Counted with SQL, not with the code under test. */
function contents(file: string): Pick<Reading, 'rows' | 'lanes' | 'records' | 'recordMib'> {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    const all = (sql: string) => database.prepare(sql).all();
    const [counts] = all('SELECT count(*) AS n FROM rows');
    const [lanes] = all(
      `SELECT count(DISTINCT subject) AS n FROM rows JOIN subscriptions ON id = subscription 
       WHERE grp = 'attribute' AND key <> 'lane/now'`,
    );
    const topics = all(
      `SELECT name, count(*) AS n, sum(length(CAST(body AS BLOB))) AS bytes FROM records
       JOIN topics ON id = k >> 48 GROUP BY name`,
    );
    const byTopic = (field: 'n' | 'bytes', unit: number) =>
      Object.fromEntries(topics.map((row) => [String(row.name), Number(row[field]) / unit]));
    return {
      rows: Number(counts?.n),
      lanes: Number(lanes?.n),
      records: byTopic('n', 1),
      recordMib: byTopic('bytes', MIB),
    };
  } finally {
    database.close();
  }
}
