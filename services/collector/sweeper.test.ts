import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { attribute } from './attribute.ts';
import { submit } from './submit.ts';
import { inactiveLanes, openSessions, waitingBatches } from './sweep-candidates.ts';
import { createSweeper } from './sweeper.ts';
import { feedback, interaction, sampleReady, sessionEnded, timeAt, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

function sweeperOf(candidates: Parameters<typeof createSweeper>[0]['candidates']) {
  const appended: ClawLoopEvent[] = [];
  const clock = { now: 0, minutes: 0 };
  const append = async (events: readonly ClawLoopEvent[]) => void appended.push(...events);
  const time = () => timeAt(clock.minutes);
  const sweeper = createSweeper({
    candidates,
    spanMs: 100,
    staleAfterMs: 1000,
    append,
    time,
    now: () => clock.now,
  });
  return { said: appended, clock, ...sweeper };
}

const a = interaction({ id: 'a', messages: [user('hi')], answer: 'hello', session: 's/1', key: 'k/1' });
const viewAfter = (events: readonly ClawLoopEvent[]) => {
  const { rows } = runFold(attribute, events, {});
  return { subject: 'lane', partition: 0, rows: rows.get('lane')! };
};

test('a session seen idle for the span is ended, and the fold closes it', async () => {
  const { said, clock, owed, sweep } = sweeperOf(openSessions('votes'));
  owed([viewAfter([a])]);
  expect(await sweep()).toBe(0);
  clock.now = 99;
  expect(await sweep()).toBe(0);
  clock.now = 100;
  expect(await sweep()).toBe(1);
  expect(said[0]?.data).toEqual({
    lane: 'lane',
    key: 'k/1',
    session: 's/1',
    reason: 'idle',
    epoch: 'a',
    last: 'a',
  });
  expect(runFold(attribute, [a, ...said], {}).emitted.map(brief)).toEqual([
    'skipped a: no-next-state',
    'closed s/1',
  ]);
});

test('any event in the session restarts the span', async () => {
  const { said, clock, owed, sweep } = sweeperOf(openSessions('votes'));
  owed([viewAfter([a])]);
  await sweep();
  clock.now = 90;
  owed([viewAfter([a, feedback({ id: 'f', key: 'k/1' }, 'a', 1)])]);
  await sweep();
  clock.now = 150;
  await sweep();
  expect(said).toEqual([]);
  clock.now = 190;
  await sweep();
  expect(said).toHaveLength(1);
});

test('a sweeper that just started ends nothing, however old the session is', async () => {
  const { said, clock, owed, sweep } = sweeperOf(openSessions('votes'));
  clock.now = 1e9;
  owed([viewAfter([a])]);
  await sweep();
  expect(said).toEqual([]);
});

test('sessions of a lost partition are left alone', async () => {
  const { said, clock, owed, sweep } = sweeperOf(openSessions('votes'));
  owed([viewAfter([a])]);
  await sweep();
  clock.now = 2000;
  await sweep();
  expect(said).toEqual([]);
});

test('a lane is forgotten a day after its last event, but never with an open session', async () => {
  const { said, clock, owed, sweep } = sweeperOf(inactiveLanes);
  const over = [a, sessionEnded({ id: 'e', key: 'k/1' }, 's/1')];
  owed([viewAfter(over)]);
  for (clock.now = 0; clock.now < 1000; clock.now += 100) await sweep();
  expect(said).toEqual([]);
  clock.minutes = 24 * 60;
  await sweep();
  expect(said.map(({ type, data }) => [type, data])).toEqual([
    ['lane.forgotten', { lane: 'lane', last: timeAt(0) }],
  ]);
  owed([viewAfter([...over, ...said])]);
  for (; clock.now < 2000; clock.now += 100) await sweep();
  owed([viewAfter([a])]);
  for (; clock.now < 3000; clock.now += 100) await sweep();
  expect(said).toHaveLength(1);
});

test('samples that waited long enough request a smaller batch, naming the last one', async () => {
  const { settings: training } = defaultTrainingSettings('claw-nano');
  const { rows } = runFold(submit, [sampleReady('x')], { size: 4, maxStaleness: 4, training });
  const { said, clock, owed, sweep } = sweeperOf(waitingBatches);
  owed([{ subject: 'default', partition: 0, rows: rows.get('default')! }]);
  await sweep();
  clock.now = 100;
  await sweep();
  expect(said[0]?.data).toEqual({ adapter: 'default', after: 0, reason: 'waited' });
});

test('a session settled by reward has its own timer', async () => {
  const byReward = interaction({
    id: 'r',
    messages: [user('hi')],
    answer: 'hello',
    session: 'r',
    settle: 'reward',
    key: 'k/1',
  });
  for (const [settled, session] of [
    ['votes', 's/1'],
    ['reward', 'r'],
  ] as const) {
    const { said, clock, owed, sweep } = sweeperOf(openSessions(settled));
    owed([viewAfter([a, byReward])]);
    await sweep();
    clock.now = 100;
    await sweep();
    expect(said.map(({ data }) => data)).toMatchObject([{ session, reason: 'idle' }]);
  }
});
