import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { EventRejected } from '../../shared/events/event-rejected.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import { SessionStarted } from '../../shared/events/session-started.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { readTopic } from '../../shared/log/read-topic.ts';
import { planRedrive } from '../../shared/log/redrive.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { redriveTopics } from './redrive-topics.ts';

let folder: string;
let log: EventLog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-redrive-'));
  log = await openSqliteLog({ folder: dataFolder(folder).log, partitions: 1 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const origin = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });
const started = (id: string, lane = 'lane') =>
  SessionStarted.create({ ...origin(id), data: { lane, key: 'k', session: 's', settle: 'votes' } });
const letter = (body: string, offset: number, { group = 'attribute', subject = 'lane' } = {}) =>
  EventRejected.create({
    ...origin(`${group}/conversations/0/${offset}/rejected`),
    time: new Date(Date.UTC(2026, 0, 1, 0, 0, offset)).toISOString(),
    data: {
      topic: 'conversations',
      at: { partition: 0, offset },
      subject,
      group,
      error: 'as it was then',
      body,
    },
  });
const bodyOf = (id: string) => JSON.stringify(started(id));

const standing = async (): Promise<readonly string[]> => {
  const ids: string[] = [];
  await readTopic(log, 'conversations', ({ event }) => void ids.push(event.id));
  return ids;
};
/** Runs the command, and returns its output. */
const redrive = async (...flags: readonly string[]): Promise<string> => {
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  expect(await redriveTopics([...flags, '--data-folder', folder])).toBe(0);
  const said = print.mock.calls.flat().join('\n');
  print.mockRestore();
  return said;
};

test('a readable letter is put back once; an unreadable one is listed with its error', async () => {
  await log.append([letter(bodyOf('a'), 10), letter('{"torn', 11), letter(bodyOf('b'), 12)]);
  const said = await redrive();
  expect(said).toContain('2 of 3 put back');
  expect(said).toMatch(/conversations\/0@11 +attribute +not put back: not JSON/);
  expect(await standing()).toEqual(['a', 'b']);

  expect(await redrive('--all')).toMatch(/already put back[\s\S]*0 of 3 put back/);
  expect(await standing()).toEqual(['a', 'b']);
});

test('a dry run appends nothing, and --last takes the latest letters', async () => {
  await log.append([letter(bodyOf('a'), 10), letter(bodyOf('b'), 11)]);
  expect(await redrive('--dry-run')).toContain('2 of 2 would be put back');
  expect(await standing()).toEqual([]);
  await redrive('--last', '1');
  expect(await standing()).toEqual(['b']);
});

test('the rejected record does not count as put back, even if it can be read now', async () => {
  await log.append([started('a')]);
  await log.append([letter(bodyOf('a'), 0)]);
  await redrive();
  await redrive();
  expect(await standing()).toEqual(['a', 'a']);
});

test('a letter that an old reader rejects again is put back again', async () => {
  await log.append([letter(bodyOf('a'), 10)]);
  await redrive();
  await log.append([letter(bodyOf('a'), 0)]);
  await redrive();
  await redrive();
  expect(await standing()).toEqual(['a', 'a']);
});

test('a record that two groups rejected is put back once', async () => {
  await log.append([letter(bodyOf('a'), 10), letter(bodyOf('a'), 10, { group: 'judge' })]);
  await redrive();
  expect(await standing()).toEqual(['a']);
});

test('a letter is put back only for the group that rejected it', async () => {
  await log.append([started('a'), letter(bodyOf('a'), 0), letter(bodyOf('a'), 0, { group: 'second' })]);
  const folded = { attribute: [] as string[], second: [] as string[], other: [] as string[] };
  const stop = new AbortController();
  const fold = (group: keyof typeof folded): Fold => ({
    name: group,
    reads: 'conversations',
    writes: 'turns',
    on: (_, event) => {
      folded[group].push(event.id);
      return { changes: [], emit: [] };
    },
  });
  const groups = ['attribute', 'second', 'other'] as const;
  const working = groups.map((group) => log.process(fold(group), { group, settings: null }, stop.signal));
  await redrive();
  await redrive();
  await log.append([started('last')]);
  await vi.waitFor(() => expect(groups.every((group) => folded[group].includes('last'))).toBe(true), 20_000);
  stop.abort();
  await Promise.all(working);
  expect(folded).toEqual({
    attribute: ['a', 'a', 'last'],
    second: ['a', 'a', 'last'],
    other: ['a', 'last'],
  });
});

test('not put back, with the reason: another topic or key, an unknown type or version', async () => {
  const paused = LearningPaused.create({ ...origin('p'), data: { adapter: 'lane' } });
  const newer = { ...started('n'), dataschema: 'clawloop:session.started:99' };
  const stranger = { ...started('u'), type: 'no.such' };
  await log.append([
    letter(JSON.stringify(paused), 1),
    letter(bodyOf('k'), 2, { subject: 'other' }),
    letter(JSON.stringify(newer), 3),
    letter(JSON.stringify(stranger), 4),
  ]);
  const plan = await planRedrive(log);
  expect(plan.map((one) => (one.kind === 'left' ? one.why : one.kind))).toEqual([
    'learning.paused belongs in training, not in conversations',
    "its key was 'other', its subject is 'lane'",
    `session.started version 99; this code knows ${SessionStarted.version}`,
    'unknown type no.such',
  ]);
});

test('--last with --all, or an invalid number, is refused', async () => {
  await expect(redriveTopics(['--last', '1', '--all', '--data-folder', folder])).rejects.toThrow('not both');
  await expect(redriveTopics(['--last', 'x', '--data-folder', folder])).rejects.toThrow('whole number');
});
