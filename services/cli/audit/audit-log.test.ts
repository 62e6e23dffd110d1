import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Topic } from '../../../shared/events/define-event.ts';
import { EventRejected } from '../../../shared/events/event-rejected.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Fold } from '../../../shared/log/fold.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { trimLog } from '../../../shared/retention/trim-log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { audit as command } from '../commands/audit.ts';
import { auditLog } from './audit-log.ts';
import {
  auditRecords,
  batch,
  completed,
  type Facts,
  interaction,
  judged,
  promoted,
  ready,
  records,
  trained,
  vote,
} from './testing/facts.ts';

const HOUR_MS = 3_600_000;
let folder: string;
let log: EventLog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-audit-'));
  log = await openSqliteLog({ folder: dataFolder(folder).log, partitions: 1 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const groups: Readonly<Record<string, Topic>> = {
  attribute: 'conversations',
  judge: 'turns',
  assemble: 'turns',
  submit: 'training',
};

/** Every group reads its topic to the end. */
async function readAsServices(): Promise<void> {
  const reading = Object.entries(groups).map(async ([group, reads]) => {
    const stop = new AbortController();
    const idle: Fold = { name: group, reads, writes: reads, on: () => ({ changes: [], emit: [] }) };
    const done = log.process(idle, { group, settings: {} }, stop.signal);
    await vi.waitFor(
      async () => {
        const [end] = await log.ends(reads);
        expect(await log.lag(group)).toEqual([expect.objectContaining({ position: end })]);
      },
      { timeout: 30_000 },
    );
    stop.abort();
    await done;
  });
  await Promise.all(reading);
}

const write = async (...facts: readonly Facts[]) => {
  await log.append(records(...facts).map(({ event }) => event));
  await readAsServices();
};

function inFile(statement: string): void {
  const db = new DatabaseSync(join(dataFolder(folder).log, 'log.sqlite'), { timeout: 10_000 });
  db.exec(statement);
  db.close();
}
const row = (type: string, id: string) => `type = '${type}' AND body LIKE '%"id":"${id}"%'`;

test('an untouched log balances', async () => {
  await write(trained('a'), trained('b'));
  expect(await auditLog(log, HOUR_MS)).toMatchObject({ broken: [], overdue: [], uncovered: 0, trimmed: {} });
});

test('a record missing between others is reported with its place', async () => {
  await write(trained('a'), trained('b'));
  inFile(`DELETE FROM records WHERE ${row('vote.cast', 'a/vote/0')}`);
  expect((await auditLog(log, HOUR_MS)).broken).toEqual(
    expect.arrayContaining([expect.stringMatching(/^turns\/0@\d+ is missing$/)]),
  );
});

test('a missing last record is noticed, because its readers were past it', async () => {
  await write(trained('a'), interaction('b'));
  inFile(`DELETE FROM records WHERE ${row('interaction.completed', 'b')}`);
  expect((await auditLog(log, HOUR_MS)).broken.join()).toMatch(
    /attribute has read conversations\/0 up to offset 3, but its records end at 2/,
  );
});

test('an unreadable record is a violation unless a dead letter holds it', async () => {
  await write(trained('a'), interaction('b', false), interaction('c'));
  inFile(`UPDATE records SET body = '{' WHERE ${row('interaction.completed', 'b')}`);
  const { broken } = await auditLog(log, HOUR_MS);
  expect(broken).toEqual([
    expect.stringMatching(/conversations\/0\/2 cannot be read.*no dead letter names it/),
  ]);
  const at = { partition: 0, offset: 2 };
  await log.append([
    EventRejected.create({
      id: 'attribute/conversations/0/2/rejected',
      source: 'test',
      time: '2026-01-01T00:00:00Z',
      data: { topic: 'conversations', at, subject: 'l', group: 'attribute', error: 'not JSON', body: '{' },
    }),
  ]);
  expect((await auditLog(log, HOUR_MS)).broken).toEqual([]);
});

test('records that a group has not read are overdue after the limit; the oldest is named', async () => {
  await write(trained('a'));
  await log.append([interaction('b'), interaction('c')]);
  inFile(`UPDATE records SET time = time - 2 * ${HOUR_MS} WHERE ${row('interaction.completed', 'b')}`);
  expect((await auditLog(log, 3 * HOUR_MS)).overdue).toEqual([]);
  const [oldest] = (await auditLog(log, HOUR_MS)).overdue;
  expect(oldest?.what).toMatch(/attribute has not read conversations\/0@2 \(interaction.completed b\)/);
});

test('the exit code distinguishes a balanced, a broken and an overdue log', async () => {
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const run = (...flags: string[]) => command.run([...flags, '--data-folder', folder]);
  await write(trained('a'));
  expect(await run()).toBe(0);
  await log.append([interaction('b')]);
  const appended = Date.now();
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(appended));
  await log.append([interaction('c')]);
  expect(await run('--overdue-after', '1h')).toBe(0);
  expect(await run('--overdue-after', '0s')).toBe(2);
  expect(print.mock.calls.flat().join('\n')).toMatch(/OVERDUE {2}1 open for more than 0s; oldest, since/);
  inFile(`DELETE FROM records WHERE ${row('judgment.reached', 'a/judgment')}`);
  expect(await run()).toBe(1);
});

test('a changed record breaks the chain even if no other record refers to it', async () => {
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await write(trained('a'));
  inFile(`UPDATE records SET time = time + 1 WHERE ${row('vote.cast', 'a/vote/0')}`);
  expect(await command.run(['--data-folder', folder])).toBe(1);
  expect(print.mock.calls.flat().join('\n')).toMatch(/BROKEN {2}turns\/0, offsets 0 to \d+: /);
});

test('references to trimmed records are counted and are no violation', () => {
  const whole = records(trained('a'), trained('b'));
  const late = whole.filter(({ topic, at }) => topic !== 'conversations' || at.offset > 1);
  expect(auditRecords(late).broken).not.toEqual([]);
  const report = auditRecords(late, { trimmed: new Set<Topic>(['conversations']) });
  expect(report.broken).toEqual([]);
  expect(report.uncovered).toBeGreaterThan(0);
});

test('an interaction whose outcome was trimmed is neither open nor overdue, though its lane is in use', async () => {
  await write(interaction('a'), completed('a'));
  await write(trained('b'));
  const age = (hours: number, where: string) =>
    inFile(`UPDATE records SET time = time - ${hours * HOUR_MS} WHERE ${where}`);
  age(1, `type IN ('interaction.completed', 'session.ended')`);
  age(2, `type IN ('turn.completed', 'session.closed', 'vote.cast', 'judgment.reached')`);
  for (const [type, id] of [
    ['interaction.completed', 'a'],
    ['turn.completed', 'a/completed'],
    ['session.closed', 'chat-a@a/closed'],
  ] as const)
    age(10, row(type, id));
  await trimLog(log, { keep: 'turns=5h', keepBytes: '', source: 'clawloop/test', now: Date.now() });
  const report = await auditLog(log, 0);
  expect(report).toMatchObject({ broken: [], overdue: [], trimmed: { turns: [2] } });
  expect(report.open['interactions without an outcome']).toBe(0);
});

test('a rejected record may appear twice after it is put back', () => {
  const log = records(interaction('a'), completed('a'), vote('a'), judged('a'), judged('a'), ready('a'));
  const [first] = log.filter(({ event }) => event.type === 'judgment.reached');
  expect(auditRecords(log).broken.join()).toMatch(/judgment.reached a\/judgment is in the log 2 times/);
  const isFirst = (one: (typeof log)[number]) => one === first;
  const folded = (group: string, { topic, at }: (typeof log)[number]) =>
    !(group === 'assemble' && topic === 'turns' && at.offset === first!.at.offset);
  expect(auditRecords(log, { setAside: isFirst, folded }).broken).toEqual([]);
});

test('events derived from records that were not folded when the audit began are no violation', () => {
  const log = records(trained('a'), batch(1, 0, 'a'), promoted(1, 0));
  expect(auditRecords(log, { folded: () => false }).broken).toEqual([]);
});
