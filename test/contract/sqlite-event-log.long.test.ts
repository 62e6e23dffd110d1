import { describe, expect, test } from 'vitest';
import { eventLogChaosContract } from './event-log-crashes.ts';
import { expectedLedger, readLedger, startedMany, untilLevel } from './event-log-fixtures.ts';
import { logForEach } from './log-harness.ts';
import { sqliteHarness } from './sqlite-event-log-harness.ts';

for (const seed of [2, 3]) {
  eventLogChaosContract('SQLite log', () => sqliteHarness(900), { rounds: 25, events: 20_000, seed });
}

describe('SQLite log: 30,000 events', () => {
  const on = logForEach(() => sqliteHarness(6_000));

  test('written and folded by several processes at once, each once and in order', async () => {
    const count = 30_000;
    const lanes = 40;
    for (let n = 0; n < 2; n += 1) on.member();
    const log = await on.harness.open();
    // One writer for the lanes that are checked for order, one for lanes of others, and this process for
    // duplicates.
    const writers = [
      on.start({ kind: 'append', count: count / 2, lanes, from: 0, batch: 50 }),
      on.start({ kind: 'append', count: count / 2, lanes: lanes + 1, from: 10_000 * (lanes + 1), batch: 7 }),
    ];
    await Promise.all(writers.map(({ exited }) => exited));
    await log.append(startedMany(200, lanes));
    await untilLevel(log, 'ledgers', 300_000);

    const ends = await log.ends('conversations');
    expect(ends.reduce((sum, end) => sum + end, 0)).toBe(count + 200);
    const read = await readLedger(log);
    const ids = Object.values(read).flat();
    expect(ids.length).toBe(count);
    const expected = expectedLedger(count / 2, lanes);
    const isFirst = new Set(startedMany(count / 2, lanes).map(({ id }) => id));
    for (const [lane, of] of Object.entries(expected)) {
      const own = read[lane]!.map((line) => line.split(' ')[0]!).filter((id) => isFirst.has(id));
      expect(own).toEqual(of.map((line) => line.split(' ')[0]));
      expect(read[lane]!.map((line) => Number(line.split(' ')[1]))).toEqual(
        read[lane]!.map((_, index) => index + 1),
      );
    }
  });
});
