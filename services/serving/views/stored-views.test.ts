import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSnapshots } from '../../../shared/log/snapshots/snapshots.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { countingReads } from '../../../shared/log/testing/counting-reads.ts';
import { randomEvents } from '../../../shared/log/testing/random-events.ts';
import { createLogger } from '../../../shared/runtime/logger.ts';
import { createAnswerIds } from '../answer/answer-ids.ts';
import { openViews } from './open-views.ts';

let folder: string;
let log: EventLog;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-views-'));
  log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 1 });
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

/** Opens the views as serving does, lets them reach the end of the log, and stores them in `into`. */
async function viewsAt(into: string, { outbox = 0 } = {}) {
  const stop = new AbortController();
  const counting = countingReads(log);
  const views = await openViews({
    log: counting.log,
    snapshots: openSnapshots({ folder: join(folder, into), log }),
    adapters: ['default', 'other'],
    checkpointsOf: () => '/nowhere',
    ids: createAnswerIds(Buffer.alloc(32, 1)),
    outboxDepth: () => outbox,
    logger: createLogger('test', 'silent'),
    signal: stop.signal,
  });
  await Promise.all([views.head.caughtUp, views.sessions.reachEnd(), views.named.lanesOf('k', 's')]);
  stop.abort();
  await Promise.all([views.head.done, views.sessions.done, views.named.done]);
  const state = stateOf(views);
  await views.close();
  return { state, read: counting.count() };
}

/**
 * What the views know. A start from the first record reads no answers of ended sessions, and the answers of others
 * last: it knows less of these sessions than a process that saw them go on.
 */
const stateOf = ({ head, samples, sessions, leases, places, named, responses }: Views) => ({
  heads: ['default', 'other'].map((name) => ({ canary: null, ...head.of(name).state() })),
  samples: [...samples].map(([name, waiting]) => [name, waiting.state()]),
  sessions: {
    ...sessions.state(),
    rows: sessions.state().rows.map(({ latest: _, ...row }) => {
      const { guarded, last, oldest, latestAt, ...known } = row;
      return row.ended === undefined ? row : known;
    }),
  },
  open: sessions.open(),
  leases: leases.state(),
  places: places.state(),
  answered: named.answered(),
  opened: named.opened(),
  deletions: responses.deletions(),
});
type Views = Awaited<ReturnType<typeof openViews>>;

test.each([1, 2, 3, 4, 5, 6])(
  'from a stored state and the later records come the same views as from all records, seed %i',
  async (seed) => {
    const events = randomEvents(seed, 240);
    const cuts = [0, 60 + 7 * seed, 61 + 7 * seed, 180, 240];
    const reads: number[] = [];
    for (const [index, cut] of cuts.entries()) {
      await log.append(events.slice(index === 0 ? 0 : cuts[index - 1]!, cut));
      const next = await viewsAt('kept');
      reads.push(next.read);
      expect(next.state).toEqual((await viewsAt(`new-${cut}`)).state);
    }
    expect(reads.at(-1)).toBeLessThan((await viewsAt('none')).read / 2);
  },
);

test('a state with events that are only in the outbox is not stored', async () => {
  await log.append(randomEvents(1, 40));
  await viewsAt('kept', { outbox: 1 });
  expect(await readdir(join(folder, 'kept'))).toEqual(['serving-training.snapshot']);
});
