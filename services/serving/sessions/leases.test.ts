import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { laneOf } from './lane.ts';
import type { LeaseFact } from './lease-fact.ts';
import { createLeaseTable } from './lease-table.ts';
import { openLeases } from './leases.ts';
import type { Session } from './session-row.ts';

const leased: LeaseFact = {
  what: 'leased',
  environment: 'openenv',
  task: 'room-1',
  task_digest: 'd',
  attempt: 0,
  host: 'here',
  ttl_seconds: 60,
};
const acted = (call: string): LeaseFact => ({
  what: 'acted',
  call,
  name: 'look',
  argumentsDigest: 'a',
  observationDigest: 'o',
  bytes: 3,
  isError: false,
  isDone: false,
  ms: 1,
});

/** Leases of the open session `s` of the key `mine`, on a clock in s that the test sets. */
function lending() {
  const written: ClawLoopEvent[] = [];
  const clock = { seconds: 0 };
  const now = () => clock.seconds * 1000;
  const open = { session: 's', keyId: 'mine', ended: undefined } as Session;
  const view = {
    inLane: (lane: string) => (lane === laneOf('mine', 's') ? open : undefined),
    reachEnd: async () => true,
    isCaughtUp: () => true,
  };
  const recorder = {
    record: async (event: ClawLoopEvent) => {
      written.push(event);
      return true;
    },
  };
  const begin = (table = createLeaseTable()) => openLeases({ view, table, recorder, now });
  const leases = begin();
  const say = (fact: LeaseFact, session = 's', key = 'mine') => leases.record(key, session, fact);
  return { leases, say, written, clock, begin };
}

test('asking again for a lease, or sending a fact again, changes nothing', async () => {
  const { say, written } = lending();
  await say(leased);
  await say(leased);
  await say(acted('0'));
  expect((await say(acted('0'))).actions).toBe(1);
  expect((await say(acted('1'))).actions).toBe(2);
  await say({ what: 'evaluated', reward: 0.5, detailDigest: 'd' });
  const again = await say({ what: 'evaluated', reward: 1, detailDigest: 'd' });
  expect(again.reward).toBe(0.5);
  await say({ what: 'released' });
  expect((await say({ what: 'released' })).released).toBe('client');
  expect(new Set(written.map(({ id }) => id)).size).toBe(5);
  expect(written.filter(({ type }) => type === 'environment.evaluated')).toHaveLength(1);
});

test('a lease without renewal expires, and then accepts no more facts', async () => {
  const { leases, say, written, clock } = lending();
  await say(leased);
  clock.seconds = 50;
  await say({ what: 'renewed', renewal: 1, ttl_seconds: 60 });
  clock.seconds = 100;
  await leases.sweep();
  expect(await leases.list('mine')).toHaveLength(1);
  clock.seconds = 111;
  await expect(say(acted('0'))).rejects.toMatchObject({ code: 'lease_ended', status: 409 });
  await leases.sweep();
  await leases.sweep();
  expect(await leases.list('mine')).toEqual([]);
  expect(written.at(-1)).toMatchObject({ type: 'environment.released', data: { by: 'expiry' } });
  await expect(say(acted('0'))).rejects.toMatchObject({ code: 'lease_ended' });
  expect((await say({ what: 'released' })).released).toBe('expiry');
});

test('after a start, clients that could not renew meanwhile get half a minute', async () => {
  const { say, written, clock, begin } = lending();
  await say(leased);
  clock.seconds = 3600;
  const table = createLeaseTable();
  for (const event of written) table.apply(event);
  const restarted = begin(table);
  await restarted.sweep();
  expect(await restarted.list('mine')).toHaveLength(1);
  clock.seconds += 31;
  await restarted.sweep();
  expect(await restarted.list('mine')).toEqual([]);
});

test('only an open session of the key gets an environment', async () => {
  const { say } = lending();
  await expect(say(leased, 'other')).rejects.toMatchObject({ code: 'session_not_found', status: 404 });
  await expect(say(leased, 's', 'yours')).rejects.toMatchObject({ code: 'session_not_found' });
  await expect(say(acted('0'))).rejects.toMatchObject({ code: 'lease_not_found', status: 404 });
});

test('the table forgets the leases that were released long ago', () => {
  const table = createLeaseTable({ most: 1 });
  const fact = (type: string, lane: string, data = {}) =>
    ({ type, subject: lane, time: '2026-01-01T00:00:00Z', data: { lane, ...data } }) as ClawLoopEvent;
  for (const lane of ['a', 'b', 'c']) {
    table.apply(fact('environment.leased', lane, { expiresAt: '2026-01-01T00:01:00Z' }));
    if (lane !== 'c') table.apply(fact('environment.released', lane, { by: 'client' }));
  }
  expect(table.of('a')).toBeUndefined();
  expect(table.of('b')?.released).toBe('client');
  expect(table.live()).toHaveLength(1);
});
