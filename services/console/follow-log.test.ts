import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { EventLog, NewerRecord } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { followLog } from './follow-log.ts';
import { openStoredModel } from './stored-model.ts';
import { allIds } from './testing/all-turns.ts';
import { chat } from './testing/chat.ts';

const patience = { timeout: 20_000, interval: 10 };

/** As a later release may write it. */
const newer = (event: ClawLoopEvent): ClawLoopEvent => ({
  ...event,
  dataschema: `clawloop:${event.type}:99`,
});

/** One start of a console on the same log and the same stored states. */
async function start(log: EventLog, folder: string) {
  const stop = new AbortController();
  const { model, from, keep } = await openStoredModel({ log, folder, onFailure: () => {} });
  const stopped: NewerRecord[] = [];
  const reader = followLog({
    log,
    from,
    onRecord: model.on,
    onRound: model.turns.commit,
    onStopped: (record) => {
      stopped.push(record);
      model.turns.freeze();
    },
    refreshMs: 5,
    signal: stop.signal,
  });
  const kept = keep(reader);
  await expect.poll(reader.isCaughtUp, patience).toBe(true);
  const end = async (): Promise<void> => {
    await kept.close();
    stop.abort();
    await reader.done;
  };
  const turns = () => allIds(model.turns);
  return { reader, stopped, turns, from, end };
}

async function emptyLog() {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-newer-'));
  const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 2 });
  onTestFinished(async () => {
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { log, snapshots: join(folder, 'snapshots') };
}

test('a newer record stops its partition; all others go on, also after a restart, and nothing is stored from then on', async () => {
  const { log, snapshots } = await emptyLog();
  const [here, elsewhere] = await lanesOfTwoPartitions(log);
  const first = await start(log, snapshots);
  await log.append([chat('before', here)]);
  await expect.poll(first.turns, patience).toContain('before');
  await first.end();

  const second = await start(log, snapshots);
  await log.append([newer(chat('unreadable', here)), chat('hidden', here), chat('other', elsewhere)]);
  await expect.poll(second.turns, patience).toContain('other');
  await expect.poll(() => second.stopped.length, patience).toBe(1);
  const [at] = second.stopped;
  expect(second.reader.stopped()).toEqual([at]);
  expect(at).toMatchObject({ topic: 'conversations', type: 'interaction.completed', version: 99 });
  expect(at!.reason).toContain('update it');
  expect(second.turns()).toContain('before');
  expect(second.turns()).not.toContain('hidden');
  await log.append([chat('later', elsewhere)]);
  await expect.poll(second.turns, patience).toContain('later');
  await second.end();

  const third = await start(log, snapshots);
  expect(third.from).toEqual(first.reader.upTo());
  expect(third.reader.stopped()).toEqual([at]);
  expect(third.turns()).toEqual(expect.arrayContaining(['before', 'other', 'later']));
  expect(third.turns()).not.toContain('hidden');
  expect(third.reader.upTo().conversations![at!.at.partition]).toBe(at!.at.offset);
  await log.append([chat('last', elsewhere)]);
  await expect.poll(third.turns, patience).toContain('last');
  expect(third.stopped).toHaveLength(1);
  await third.end();
});

/** Two lanes, each with a turn, of different partitions. */
async function lanesOfTwoPartitions(log: EventLog): Promise<readonly [string, string]> {
  const lanes = Array.from({ length: 8 }, (_, n) => `lane-${n}`);
  const partitions = new Map<number, string>();
  await log.append(lanes.map((lane) => chat(`of-${lane}`, lane)));
  const stop = new AbortController();
  const following = log.follow(
    'conversations',
    {},
    ({ event, at }) => void partitions.set(at.partition, event.subject),
    { signal: stop.signal },
  );
  await following.caughtUp;
  stop.abort();
  await following.done;
  return [partitions.get(0)!, partitions.get(1)!];
}
