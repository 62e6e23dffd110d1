import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { monotonicMs } from './protocol.ts';
import { openWriteQueue } from './write-queue.ts';

/** A queue over a table of numbers, and another connection that can lock the file. */
async function openNumbers() {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-write-queue-'));
  const path = join(folder, 'numbers.db');
  const [mine, other] = [new DatabaseSync(path), new DatabaseSync(path)];
  onTestFinished(async () => {
    mine.close();
    other.close();
    await rm(folder, { recursive: true });
  });
  mine.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (at INTEGER PRIMARY KEY, number)');
  const hooks: { afterRollback: () => void } = { afterRollback: () => {} };
  const db = {
    get isTransaction() {
      return mine.isTransaction;
    },
    exec: (sql: string) => {
      mine.exec(sql);
      if (sql === 'ROLLBACK') hooks.afterRollback();
    },
  };
  const queue = openWriteQueue(db, {
    onBegun: () => {},
    onWritten: () => {},
    onCommitted: () => {},
    onStep: () => {},
    lockedBy: () => '',
  });
  const write = (number: number, bytes = 0) =>
    queue.write(
      () => {
        if (number < 0) throw new Error(`${number} is below 0`);
        mine.prepare('INSERT INTO numbers (number) VALUES (?)').run(number);
        return number;
      },
      { bytes, deadline: monotonicMs() + 10_000 },
    );
  const numbers = () =>
    mine
      .prepare('SELECT number FROM numbers ORDER BY at')
      .all()
      .map(({ number }) => number);
  return { write, numbers, other, hooks };
}

test('a write that fails does so alone, and the others keep their order', async () => {
  const { write, numbers } = await openNumbers();
  const written = await Promise.allSettled([1, -2, 3, 4].map((number) => write(number)));
  expect(written.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(written[1]).toMatchObject({ reason: { message: 'the log cannot be written: -2 is below 0' } });
  expect(numbers()).toEqual([1, 3, 4]);
});

test('also if another process locks the log between two tries', async () => {
  const { write, numbers, other, hooks } = await openNumbers();
  hooks.afterRollback = () => {
    hooks.afterRollback = () => {};
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => other.exec('COMMIT'), 30);
  };
  const large = 5 * 2 ** 20; // two of them fill a transaction
  await Promise.allSettled([write(1, large), write(-2, large), write(3, large), write(4, large), write(5)]);
  expect(numbers()).toEqual([1, 3, 4, 5]);
});
