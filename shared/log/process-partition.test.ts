import { expect, test } from 'vitest';
import { TurnSkipped } from '../events/turn-skipped.ts';
import { pause } from '../lang/async.ts';
import type { Fold } from './fold.ts';
import type { InputRecord } from './fold-chunk.ts';
import { type PartitionStore, type PartitionWork, processPartition } from './process-partition.ts';
import { createTroubles } from './troubles.ts';

const skipped = (id: string) =>
  TurnSkipped.create({
    id,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { turnId: id, lane: 'a', reason: 'side', by: 'b' },
  });

/** Counts the events of a lane. */
const counts: Fold<null> = {
  name: 'count',
  reads: 'turns',
  writes: 'turns',
  on: (rows) => ({
    changes: [{ key: 'count/n', row: ((rows.get('count/n') as number | undefined) ?? 0) + 1 }],
    emit: [],
  }),
};

const input = (...ids: readonly string[]): InputRecord[] =>
  ids.map((id, offset) => ({ offset, time: 1, subject: 'a', body: JSON.stringify(skipped(id)) }));

/** A partition in memory; `faults` are thrown, one by one, instead of a commit. */
function memoryPartition(records: readonly InputRecord[], faults: (Error | 'void')[] = []) {
  const stop = new AbortController();
  const troubles = createTroubles();
  const waits: number[] = [];
  let [position, count, takeOvers, closed, version] = [0, 0, 0, 0, 1];
  const settings: (string | null)[] = [];
  const store: PartitionStore<InputRecord> = {
    longestWaitMs: 150,
    takeOver: async () => {
      takeOvers += 1;
      return {
        rows: count === 0 ? [] : [['a', 'count/n', count]],
        position,
        rowsVersion: version,
        settings: settings.findLast((json) => json !== null) ?? null,
        next: async () => {
          if (position === records.length) stop.abort();
          return records.slice(position, position + 2);
        },
        commit: async ({ folded, settings: json, rowsVersion }) => {
          const fault = faults.shift();
          if (fault === 'void') return false;
          if (fault !== undefined) throw fault;
          position = folded.next;
          count = (folded.changes.get('a')?.get('count/n') as number | undefined) ?? count;
          version = rowsVersion ?? version;
          if (folded.taken > 0) settings.push(json);
          return true;
        },
        readBodies: async (positions) => positions.map(() => null),
        close: async () => void closed++,
      };
    },
    recover: async (error, waitMs) => {
      if ((error as Error).message !== 'passes') throw error;
      waits.push(waitMs);
    },
  };
  const work = (options: Partial<PartitionWork<null>['options']> = {}): PartitionWork<null> => ({
    fold: counts,
    options: { group: 'g', settings: null, ...options },
    partition: 0,
    troubles,
    onRejected: () => {},
    stop: stop.signal,
  });
  const state = () => ({ position, count, takeOvers, closed, waits, settings });
  /** What an earlier process left. */
  const restore = (left: { readonly position: number; readonly count: number; readonly version: number }) => {
    ({ position, count, version } = left);
  };
  return { store, work, state, stop, restore, troubles, version: () => version };
}

test('records are folded in chunks, each committed with the settings where they changed', async () => {
  const { store, work, state } = memoryPartition(input('1', '2', '3'));
  await processPartition(work(), store);
  expect(state()).toEqual({
    position: 3,
    count: 3,
    takeOvers: 1,
    closed: 1,
    waits: [],
    settings: ['null', null],
  });
});

test('after a failure the partition is taken over again; the waits grow until a commit', async () => {
  const fault = () => new Error('passes');
  const faults = [fault(), fault(), fault(), fault()];
  const { store, work, state } = memoryPartition(input('1', '2', '3'), faults);
  await processPartition(work(), store);
  expect(state()).toMatchObject({ count: 3, takeOvers: 5, closed: 5, waits: [50, 100, 150, 150] });
});

test('after a void commit the partition is taken over again without a wait', async () => {
  const { store, work, state } = memoryPartition(input('1', '2'), ['void']);
  await processPartition(work(), store);
  expect(state()).toMatchObject({ count: 2, takeOvers: 2, closed: 2, waits: [] });
});

test('an error that a retry cannot fix is thrown, and the partition is closed', async () => {
  const { store, work, state } = memoryPartition(input('1'), [new Error('a bug')]);
  await expect(processPartition(work(), store)).rejects.toThrow('a bug');
  expect(state()).toMatchObject({ takeOvers: 1, closed: 1 });
});

test('a partition of another member is left alone', async () => {
  const { store, work } = memoryPartition([]);
  await processPartition(work(), { ...store, takeOver: async () => undefined });
});

test('a record of a newer version stops the partition, and open obligations stay open', async () => {
  const newer = JSON.stringify({ ...skipped('2'), dataschema: 'clawloop:turn.skipped:999' });
  const [first, second] = input('1', '2');
  const { store, work, state, stop } = memoryPartition([first!, { ...second!, body: newer }]);
  const owed: number[] = [];
  const options = { owedIntervalMs: 1, owed: (views: readonly unknown[]) => void owed.push(views.length) };
  const processing = processPartition(work(options), store);
  while (owed.length < 4) await pause(1);
  stop.abort();
  await processing;
  expect(state()).toMatchObject({ position: 1, count: 1 });
  expect(owed.slice(0, 4)).toEqual([0, 1, 1, 1]);
});

/** From version 2 on, the fold counts in thousands. */
const inThousands: Fold<null> = {
  ...counts,
  on: (rows) => ({
    changes: [{ key: 'count/n', row: ((rows.get('count/n') as number | undefined) ?? 0) + 1_000 }],
    emit: [],
  }),
  migrations: [(rows) => [{ key: 'count/n', row: (rows.get('count/n') as number) * 1_000 }]],
};

test('earlier rows are migrated in a commit of their own, which is repeated until it succeeds', async () => {
  const faults: (Error | 'void')[] = ['void', new Error('passes')];
  const { store, work, state, version, restore } = memoryPartition(input('1', '2', '3'), faults);
  restore({ position: 2, count: 2, version: 1 });
  await processPartition({ ...work(), fold: inThousands }, store);
  expect(state()).toMatchObject({ position: 3, count: 3_000, takeOvers: 3, closed: 3, settings: ['null'] });
  expect(version()).toBe(2);
});

test('newer rows stay as they are, and the reason is told until the partition is given up', async () => {
  const { store, work, state, version, restore, troubles, stop } = memoryPartition(input('1', '2', '3'));
  restore({ position: 2, count: 2_000, version: 2 });
  const owed: unknown[] = [];
  const processing = processPartition(work({ owed: (views) => void owed.push(views) }), store);
  while (troubles.of('g').length === 0) await pause(1);
  expect(troubles.of('g')).toEqual([
    'turns/0: the rows of g for turns/0 have version 2, and this version of ClawLoop knows 1: update it',
  ]);
  stop.abort();
  await processing;
  expect(troubles.of('g')).toEqual([]);
  expect(state()).toMatchObject({ position: 2, count: 2_000, takeOvers: 1, closed: 1, settings: [] });
  expect([version(), owed]).toEqual([2, []]);
});
