import { describe, expect, test } from 'vitest';
import type { SubjectView } from '../../shared/log/event-log.ts';
import {
  expectedLedger,
  ledger,
  ledgers,
  readLedger,
  started,
  startedMany,
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** What every EventLog reports to the members of a group, and costs them. */
export function eventLogMembersContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: members of a group`, () => {
    const on = logForEach(makeHarness);

    test('`owed` receives the rows of each commit, and all rows at take-over and at each interval', async () => {
      const log = await on.harness.open();
      await log.append([started('a', 0), started('b', 0)]);
      let calls: string[][] = [];
      /** keys of the rows that each view's commit changed; undefined in a view of the whole partition */
      let changed: (readonly string[] | undefined)[] = [];
      const owed = (views: readonly SubjectView[]) => {
        calls.push(views.map(({ subject, rows }) => `${subject} ${rows.get('count/n')}`));
        for (const view of views) changed.push(view.changed);
      };
      const first = new AbortController();
      const done = log.process(ledger, { ...ledgers, owed }, first.signal);
      await untilLevel(log, 'ledgers');
      first.abort();
      await done;
      expect(calls.flat().sort()).toEqual(['a 1', 'b 1']);
      for (const keys of changed) expect(keys).toContain('count/n');

      calls = [];
      changed = [];
      const again = log.process(ledger, { ...ledgers, owed, owedIntervalMs: 200 }, on.stop.signal);
      await until(() => calls.flat().length >= 2);
      expect(calls.flat().slice(0, 2).sort()).toEqual(['a 1', 'b 1']);
      expect(changed.slice(0, 2)).toEqual([undefined, undefined]);
      await log.append([started('a', 1)]);
      await until(() => calls.flat().includes('a 2'));
      calls = [];
      await until(() => calls.flat().includes('b 1') && calls.flat().includes('a 2'));
      on.stop.abort();
      await again;
    });

    test('partitions are shared out, and move at once when a member leaves', async () => {
      const sessionTimeoutMs = 8_000;
      const logs = [await on.harness.open({ sessionTimeoutMs }), await on.harness.open({ sessionTimeoutMs })];
      const stops = [new AbortController(), new AbortController()];
      const held: Set<number>[] = [new Set(), new Set()];
      const done = logs.map((log, member) =>
        log.process(
          ledger,
          {
            ...ledgers,
            owed: (views) => views.forEach(({ partition }) => void held[member]!.add(partition)),
          },
          stops[member]!.signal,
        ),
      );
      const lanes = 12;
      let written = 0;
      // Continues until both have folded: the first member has all partitions for a moment.
      await until(async () => {
        for (const set of held) set.clear();
        await logs[0]!.append(startedMany(lanes, lanes, written));
        written += lanes;
        await untilLevel(logs[0]!, 'ledgers');
        return held[0]!.size >= 1 && held[1]!.size >= 1;
      });
      const left = performance.now();
      stops[0]!.abort();
      await done[0];
      await logs[1]!.append(startedMany(lanes, lanes, written));
      written += lanes;
      await untilLevel(logs[1]!, 'ledgers');
      expect(performance.now() - left).toBeLessThan(sessionTimeoutMs / 2);
      stops[1]!.abort();
      await done[1];
      expect(await readLedger(logs[1]!)).toEqual(expectedLedger(written, lanes));
    });

    test('waiting costs next to nothing', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(10, 3));
      const done = log.process(ledger, ledgers, on.stop.signal);
      const following = log.follow('turns', {}, () => undefined, { signal: on.stop.signal });
      await untilLevel(log, 'ledgers');
      await following.reachEnd();
      // A loop that asks all the time would take a whole core in each window; other work ends at some time.
      await until(async () => (await busyShare(1_500)) < 0.2);
      on.stop.abort();
      await done;
    });
  });
}

/** The share of a core that this process takes for some time. */
async function busyShare(milliseconds: number): Promise<number> {
  const [before, from] = [process.cpuUsage(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (1_000 * (performance.now() - from));
}
