import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LearningPaused } from '../events/learning-paused.ts';
import { SessionClosed } from '../events/session-closed.ts';
import { SessionStarted } from '../events/session-started.ts';
import type { EventLog } from './event-log.ts';
import { readAll } from './read-topic.ts';
import { openSqliteLog } from './sqlite/open-sqlite-log.ts';

const origin = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });
const started = (id: string) =>
  SessionStarted.create({ ...origin(id), data: { lane: 'lane', key: 'k', session: id, settle: 'votes' } });
const closed = (id: string) =>
  SessionClosed.create({
    ...origin(`${id}/closed`),
    data: { lane: 'lane', key: 'k', session: id, epoch: 'e', by: id },
  });
const paused = (id: string) =>
  LearningPaused.create({ ...origin(`${id}/paused`), data: { adapter: 'default' } });

test('while the loop runs, no fact is read without the fact that it follows from', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-read-'));
  const log = await openSqliteLog({ folder });
  const whole = (id: string) => log.append([started(id), closed(id), paused(id)]);
  await whole('first');
  // with every look at an end, a chain of facts comes in behind it
  let looks = 0;
  const oneMore = () => whole(`later-${looks++}`);
  const busy: EventLog = {
    ...log,
    ends: async (topic) => {
      const ends = await log.ends(topic);
      await oneMore();
      return ends;
    },
    follow: (...asked) => {
      const following = log.follow(...asked);
      const caughtUp = following.caughtUp.then(oneMore);
      return { ...following, caughtUp };
    },
  };
  const read: string[] = [];
  await readAll(busy, ({ event }) => void read.push(event.id));
  await log.close();
  await rm(folder, { recursive: true, force: true });

  expect(read).toEqual(expect.arrayContaining(['first', 'first/closed', 'first/paused']));
  for (const id of read.filter((one) => one.endsWith('/closed')))
    expect(read).toContain(id.replace('/closed', ''));
  for (const id of read.filter((one) => one.endsWith('/paused')))
    expect(read).toContain(id.replace('/paused', '/closed'));
});
