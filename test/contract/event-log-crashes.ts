import { describe, expect, test } from 'vitest';
import { startChild } from './event-log-child.ts';
import {
  expectedLedger,
  isLevel,
  ledger,
  ledgers,
  readLedger,
  readTopic,
  started,
  startedMany,
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** What every EventLog guarantees when processes are killed, stopped and continued. */
export function eventLogCrashContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  const lanes = 9;
  /** Starting up and folding, besides the session's time, ms. */
  const slackMs = 4_000;

  describe(`${name}: processes that are killed or stopped`, () => {
    const on = logForEach(makeHarness);

    test('another member takes over from a killed one within the session timeout', async () => {
      const log = await on.harness.open();
      const child = on.member();
      await child.said('open');
      await log.append(startedMany(30, lanes));
      await untilLevel(log, 'ledgers');
      const done = log.process(ledger, ledgers, on.stop.signal);
      await child.kill();
      const killedAt = performance.now();
      await log.append(startedMany(30, lanes, 30));
      await untilLevel(log, 'ledgers');
      expect(performance.now() - killedAt).toBeLessThan(on.harness.sessionTimeoutMs + slackMs);
      on.stop.abort();
      await done;
      expect(await readLedger(log)).toEqual(expectedLedger(60, lanes));
    });

    test('a stopped member loses its partitions, and can commit nothing after it continues', async () => {
      const log = await on.harness.open();
      const child = on.member();
      await child.said('open');
      await log.append(startedMany(30, lanes));
      await untilLevel(log, 'ledgers');
      child.signal('SIGSTOP');
      const sleptAt = performance.now();
      await log.append(startedMany(30, lanes, 30));
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      expect(performance.now() - sleptAt).toBeLessThan(2 * on.harness.sessionTimeoutMs + slackMs);
      // It continues while both have work, and still believes that all partitions are its own.
      const appending = log.append(startedMany(600, lanes, 60));
      child.signal('SIGCONT');
      await appending;
      await untilLevel(log, 'ledgers');
      child.signal('SIGTERM');
      expect(await child.exited).toBe(0);
      on.stop.abort();
      await done;
      expect(await readLedger(log)).toEqual(expectedLedger(660, lanes));
    });

    test('processes that append at once lose nothing, also when one of them is killed', async () => {
      const log = await on.harness.open();
      const doomed = on.start({ kind: 'append', count: 100_000, lanes, from: 1_000_000 * lanes, batch: 10 });
      const writers = [0, 1].map((n) =>
        on.start({ kind: 'append', count: 2_000, lanes, from: n * 10_000 * lanes, batch: 10 }),
      );
      await doomed.said('appended 200');
      await doomed.kill();
      expect(await Promise.all(writers.map(({ exited }) => exited))).toEqual([0, 0]);
      await log.append([started('last', 0)]);
      const ids = (await readTopic(log, 'conversations')).map(({ event }) => event.id);
      const present = new Set(ids);
      for (const n of [0, 1]) {
        const expected = startedMany(2_000, lanes, n * 10_000 * lanes).map(({ id }) => id);
        expect(expected.filter((id) => !present.has(id))).toEqual([]);
      }
      const acked = Math.max(...doomed.lines.map((line) => Number(line.split(' ')[1] ?? 0)));
      const expected = startedMany(acked, lanes, 1_000_000 * lanes).map(({ id }) => id);
      expect(expected.filter((id) => !present.has(id))).toEqual([]);
      expect(ids.length).toBe(present.size);
      const ends = await log.ends('conversations');
      const total = ends.reduce((sum, end) => sum + end, 0);
      if (on.harness.hasDenseOffsets) expect(total).toBe(ids.length);
      else expect(total).toBeGreaterThanOrEqual(ids.length);
    });
  });
}

export type Violence = {
  readonly rounds: number;
  readonly events: number;
  readonly seed: number;
};

/** Two members fold; one of them is repeatedly killed or stopped, at random moments that follow from a seed. */
export function eventLogChaosContract(
  name: string,
  makeHarness: () => Promise<LogHarness>,
  violence: Violence,
): void {
  const { rounds, events, seed } = violence;
  test(`${name}: ${events} events under ${rounds} random SIGKILLs and SIGSTOPs, each folded once`, async () => {
    const harness = await makeHarness();
    const random = mulberry32(seed);
    const lanes = 17;
    const group = 'ledgers';
    const member = () =>
      startChild({
        opener: harness.opener,
        connection: harness.connection,
        task: { kind: 'process', group, label: 'one' },
      });
    const members = [member(), member()];
    try {
      const log = await harness.open();
      let written = 0;
      const append = async (count: number) => {
        await log.append(startedMany(Math.min(count, events - written), lanes, written));
        written = Math.min(written + count, events);
      };
      for (let round = 0; round < rounds; round += 1) {
        const victim = Math.floor(random() * members.length);
        await members[victim]!.said('open');
        await append(Math.ceil(events / rounds));
        await new Promise((resolve) => setTimeout(resolve, random() * 60));
        if (random() < 0.6) {
          await members[victim]!.kill();
          members[victim] = member();
        } else {
          members[victim]!.signal('SIGSTOP');
          const sleepMs = harness.sessionTimeoutMs * (0.5 + random());
          await new Promise((resolve) => setTimeout(resolve, sleepMs));
          members[victim]!.signal('SIGCONT');
        }
      }
      while (written < events) await append(1_000);
      await until(() => isLevel(log, group), 60_000);
      expect(await readLedger(log)).toEqual(expectedLedger(events, lanes));
    } finally {
      await Promise.all(members.map((child) => child.kill()));
      await harness.dispose();
    }
  });
}

/** A small generator with a seed (Tommy Ettinger's mulberry32): uniform in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
