import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SessionClosed } from '../../../shared/events/session-closed.ts';
import { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import { VoteCast } from '../../../shared/events/vote-cast.ts';
import { VoteExpired } from '../../../shared/events/vote-expired.ts';
import { VoteFailed } from '../../../shared/events/vote-failed.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { openStepVotes } from './step-votes.ts';

let folder: string;
let log: EventLog;
let stop: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-steps-'));
  log = await openSqliteLog({ folder });
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await log.close();
  await rm(folder, { recursive: true });
});

const at = (id: string) => ({ id, source: 'clawloop/test', time: '2026-03-01T12:00:00.000Z' });
const cost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };
const vote = (turnId: string, index: number, value: -1 | 0 | 1 | null, lane = 'l') =>
  VoteCast.create({
    ...at(`${turnId}/vote/${index}`),
    data: { turnId, lane, index, vote: value, text: '', judge: 'test', cost },
  });
const expired = (turnId: string) =>
  VoteExpired.create({ ...at(`${turnId}/expired`), data: { turnId, lane: 'l' } });
const failed = (turnId: string, nth: number) =>
  VoteFailed.create({
    ...at(`${turnId}/failed/${nth}`),
    data: { turnId, lane: 'l', index: 0, reason: 'broke' },
  });

test('the votes on the steps of an open session, including votes before the first question', async () => {
  let isOpen = true;
  const votes = openStepVotes({ log, signal: stop.signal, isVotedOn: (lane) => lane === 'l' && isOpen });
  await log.append([
    vote('whole', 0, 1),
    vote('whole', 1, null),
    vote('whole', 1, -1), // a copy
    vote('half', 1, 1),
    vote('null', 0, null),
    vote('null', 1, null),
    vote('late', 0, 1),
    expired('late'),
    vote('late', 1, 1),
    ...[0, 1, 2].map((nth) => failed('broken', nth)),
    TurnSkipped.create({
      ...at('cut/skipped'),
      data: { turnId: 'cut', lane: 'l', reason: 'truncated', rule: 'conversation', by: 'cut' },
    }),
    vote('foreign', 0, 1, 'other'),
    vote('foreign', 1, 1, 'other'),
  ]);
  const scoreOf = async (turnId: string) => (await votes.of('l'))(turnId, 2);
  expect(await scoreOf('whole')).toEqual({ votes: 'complete', score: 1 });
  expect(await scoreOf('half')).toEqual({ votes: 'pending', score: null });
  expect(await scoreOf('null')).toEqual({ votes: 'none', score: 0 });
  expect(await scoreOf('late')).toEqual({ votes: 'missing', score: null });
  expect(await scoreOf('broken')).toEqual({ votes: 'missing', score: null });
  expect(await scoreOf('cut')).toEqual({ votes: 'none', score: 0 });
  expect(await scoreOf('foreign')).toEqual({ votes: 'pending', score: null });
  await log.append([vote('half', 0, -1)]);
  expect(await scoreOf('half')).toEqual({ votes: 'complete', score: 0 });

  isOpen = false;
  await log.append([
    SessionClosed.create({
      ...at('s@e/closed'),
      data: { lane: 'l', key: 'k', session: 's', epoch: 'e', by: 'end' },
    }),
  ]);
  expect(await scoreOf('half')).toEqual({ votes: 'pending', score: null });
});
