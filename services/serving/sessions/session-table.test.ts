import { expect, test } from 'vitest';
import { observedHash } from '../../../shared/chat/observed.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import { createSessionTable, type SessionTable } from './session-table.ts';
import { sessionsState } from './stored-rows.ts';

const source = 'clawloop/test';
/** s after the first event */
const at = (seconds: number) => new Date(Date.UTC(2026, 2, 1) + seconds * 1000).toISOString();
const started = (session: string, seconds = 0, sessionKey = `k-${session}`, key = 'ann') =>
  SessionStarted.create({
    id: `${session}/started`,
    source,
    time: at(seconds),
    data: { lane: `lane-${session}`, key, session, settle: 'reward', sessionKey, task: 'task' },
  });
const answered = (session: string, id: string, seconds = 0, data: object = {}) =>
  ({
    id,
    type: 'interaction.completed',
    subject: `lane-${session}`,
    time: at(seconds),
    source,
    data: {
      key: 'ann',
      settle: 'reward',
      live: true,
      disconnected: false,
      finishReason: 'stop',
      messages: [{ role: 'user', content: id }],
      answer: { role: 'assistant', content: `on ${id}` },
      ...data,
    },
  }) as unknown as ClawLoopEvent;
const rewarded = (session: string, interactionId: string, score: number, n = 0, seconds = 0) =>
  FeedbackGiven.create({
    id: `${session}/reward/${n}`,
    source,
    time: at(seconds),
    data: { interactionId, lane: `lane-${session}`, key: 'ann', score },
  });
const ended = (session: string, seconds = 0, data: Partial<SessionEnded['data']> = {}) =>
  SessionEnded.create({
    id: `${session}/ended`,
    source,
    time: at(seconds),
    data: { lane: `lane-${session}`, key: 'ann', session, reason: 'explicit', ...data },
  });

const tableOf = (...events: readonly ClawLoopEvent[]): SessionTable => {
  const table = createSessionTable();
  for (const event of events) table.apply(event);
  return table;
};

test('a session is found by key and lane, with its answers and rewards', () => {
  const table = tableOf(
    started('s'),
    answered('s', 'a'),
    answered('s', 'b'),
    rewarded('s', 'a', 1),
    answered('s', 'b'),
    rewarded('s', 'a', 0.5, 1),
    answered('unknown', 'c'),
  );
  expect(table.of('k-s')).toMatchObject({ session: 's', interactions: 2, last: 'b', ended: undefined });
  expect(table.inLane('lane-s')).toEqual({
    ...table.of('k-s'),
    has: expect.any(Function),
    steps: expect.any(Function),
  });
  expect([...table.of('k-s')!.rewards]).toEqual([['a', 0.5]]);
  expect(['a', 'b', 'c'].map((id) => table.of('k-s')!.has(id))).toEqual([true, true, false]);
  expect(table.openCount()).toBe(1);
  table.apply(ended('s', 5, { interactions: 2 }));
  expect(table.of('k-s')).toMatchObject({ interactions: 2, ended: { at: at(5), reason: 'explicit' } });
  expect(table.openCount()).toBe(0);
});

test('an event of another access key changes nothing, even in the same lane', () => {
  const table = tableOf(started('s'), answered('s', 'a', 1), rewarded('s', 'a', 0.5, 0, 1));
  const before = {
    ...table.of('k-s')!,
    rewards: new Map(table.of('k-s')!.rewards),
    has: expect.any(Function),
    steps: expect.any(Function),
  };
  const [open] = table.open();
  const feedback = FeedbackGiven.create({
    id: 'feedback-1',
    source,
    time: at(9),
    data: { interactionId: 'b', lane: 'lane-s', key: 'bob', score: 1 },
  });
  for (const foreign of [
    feedback,
    answered('s', 'b', 9, { key: 'bob' }),
    ended('s', 9, { key: 'bob' }),
    ended('s', 99, { key: 'bob', reason: 'idle', last: 'a', epoch: 'e' }),
  ])
    table.apply(foreign);
  expect(table.of('k-s')).toEqual(before);
  expect(table.open()).toEqual([open]);
});

test('a session lists its latest thousand rewards', () => {
  const rewards = Array.from({ length: 1_100 }, (_, n) => rewarded('s', `a${n}`, 1, n));
  const table = tableOf(started('s'), answered('s', 'a'), ...rewards);
  const listed = [...table.of('k-s')!.rewards.keys()];
  expect([listed.length, listed[0], listed.at(-1)]).toEqual([1_000, 'a100', 'a1099']);
});

test('a reward without an answer id skips cut, side and oversized answers', () => {
  const table = tableOf(
    started('s'),
    answered('s', 'a'),
    answered('s', 'cut', 1, { finishReason: 'aborted' }),
    answered('s', 'left', 1, { disconnected: true }),
    answered('s', 'title', 1, { turnType: 'side' }),
    answered('s', 'large', 1, { tooLarge: true }),
    answered('s', 'base', 1, { live: false }),
    answered('s', 'votes', 1, { settle: 'votes' }),
  );
  expect(table.of('k-s')).toMatchObject({ last: 'a', interactions: 5 });
});

test('a key belongs to its latest session, regardless of partition order', () => {
  const facts = [
    started('old', 0, 'key'),
    answered('old', 'a', 1),
    rewarded('old', 'a', 1, 0, 1),
    ended('old', 1),
    started('new', 2, 'key'),
  ];
  for (const order of [
    [0, 1, 2, 3, 4],
    [4, 0, 1, 2, 3],
    [0, 4, 1, 2, 3],
    [0, 1, 2, 4, 3],
  ]) {
    const table = tableOf(...order.map((index) => facts[index]!));
    expect(table.inLane('lane-old')).toMatchObject({ interactions: 1, rewards: new Map([['a', 1]]) });
    expect(table.of('key')).toMatchObject({ session: 'new', ended: undefined });
    expect(table.inLane('lane-old')!.ended).toEqual({ at: at(1), reason: 'explicit' });
    expect(table.openCount()).toBe(1);
  }
  const both = tableOf(started('one', 2, 'key'), started('two', 2, 'key'), started('zero', 1, 'key'));
  expect(both.of('key')!.session).toBe('two');
  expect(both.openCount()).toBe(1);
});

test('an idle end counts unless newer events than the sweeper saw arrived recently', () => {
  const idle = (last: string, seconds: number) => ended('s', seconds, { reason: 'idle', last, epoch: 'e' });
  const endOf = (...events: readonly ClawLoopEvent[]) =>
    tableOf(started('s'), answered('s', 'a'), ...events).of('k-s')!.ended?.reason;
  expect(endOf(idle('a', 1))).toBe('idle');
  expect(endOf(answered('s', 'b', 1), idle('a', 2))).toBeUndefined();
  expect(endOf(rewarded('s', 'a', 1, 0, 1), idle('a', 2))).toBeUndefined();
  expect(endOf(answered('s', 'heartbeat', 1), idle('a', 3600))).toBe('idle');
});

test('the table keeps all open sessions and the latest ended ones', () => {
  const table = createSessionTable({ most: 2 });
  for (const name of ['open', 'a', 'b', 'c']) table.apply(started(name));
  for (const name of ['b', 'a', 'c']) table.apply(ended(name));
  expect(['open', 'a', 'b', 'c'].map((name) => table.of(`k-${name}`)?.session)).toEqual([
    'open',
    'a',
    undefined,
    'c',
  ]);
  expect(
    table
      .list('ann')
      .map(({ session }) => session)
      .toSorted(),
  ).toEqual(['a', 'c', 'open']);
  expect(table.list('bob')).toEqual([]);
});

test('ended sessions of one key do not evict those of another', () => {
  const table = createSessionTable({ most: 4 });
  table.apply(started('his', 0, 'k-his', 'bob'));
  table.apply(ended('his', 0, { key: 'bob' }));
  for (let n = 0; n < 10; n++) {
    table.apply(started(`hers-${n}`, n));
    table.apply(ended(`hers-${n}`, n));
  }
  expect(table.of('k-his')).toMatchObject({ session: 'his', ended: { reason: 'explicit' } });
  expect(table.list('ann').map(({ session }) => session)).toEqual(['hers-9', 'hers-8', 'hers-7']);
});

test('recently ended sessions are listed, without empty and discarded ones', () => {
  const table = createSessionTable();
  for (const name of ['early', 'late', 'empty', 'discarded', 'open']) {
    table.apply(started(name));
    if (name !== 'empty') table.apply(answered(name, `of-${name}`));
  }
  for (const [name, seconds] of [
    ['early', 1],
    ['late', 9],
    ['empty', 9],
  ] as const)
    table.apply(ended(name, seconds));
  table.apply(ended('discarded', 9, { discard: true }));
  const [early, late] = ['early', 'late'].map((session) => ({
    session,
    keyId: 'ann',
    adapter: 'default',
    answers: 1,
  }));
  expect(table.endedSince(Date.parse(at(5)))).toEqual([late]);
  expect(table.endedSince(Date.parse(at(0)))).toEqual([early, late]);
});

test('open sessions are listed with answers, rewards and times', () => {
  const table = tableOf(
    started('s'),
    answered('s', 'a', 1, { version: 7 }),
    answered('s', 'b', 2, { version: 8 }),
    rewarded('s', 'b', 1, 0, 3),
    started('t', 4),
    started('gone'),
    ended('gone', 5),
  );
  expect(table.open()).toEqual([
    {
      session: 's',
      keyId: 'ann',
      task: 'task',
      adapter: 'default',
      interactions: 2,
      rewarded: true,
      oldest: 7,
      startedAt: Date.parse(at(0)),
      heardAt: Date.parse(at(3)),
    },
    {
      session: 't',
      keyId: 'ann',
      task: 'task',
      adapter: 'default',
      interactions: 0,
      rewarded: false,
      oldest: undefined,
      startedAt: Date.parse(at(4)),
      heardAt: Date.parse(at(4)),
    },
  ]);
});

test('the usual number of answers is the mean of the latest ended sessions', () => {
  const table = createSessionTable();
  expect(table.usualAnswers()).toBe(3);
  const whole = (session: string, answers: number, data: object = {}) => {
    table.apply(started(session));
    for (let n = 0; n < answers; n++) table.apply(answered(session, `${session}${n}`));
    table.apply(ended(session, 1, data));
  };
  whole('one', 1);
  whole('four', 4);
  whole('none', 0);
  whole('taken back', 9, { discard: true });
  expect(table.usualAnswers()).toBe(2.5);
  for (let n = 0; n < 20; n++) whole(`two${n}`, 2);
  expect(table.usualAnswers()).toBe(2);
});

/** Random facts of a partition: in any order, with duplicates. */
function history(random: () => number): readonly ClawLoopEvent[] {
  const facts: ClawLoopEvent[] = [];
  const open: string[] = [];
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  for (let n = 0; n < 60; n++) {
    const act = random();
    if (open.length === 0 || act < 0.2) {
      open.push(`s${n}`);
      facts.push(started(`s${n}`, n, `k${Math.floor(random() * 5)}`));
    } else if (act < 0.6) facts.push(answered(pick(open), `a${n}`, n));
    else if (act < 0.8) facts.push(rewarded(pick(open), `a${n}`, random(), n, n));
    else if (act < 0.9) facts.push(pick(facts));
    else {
      const session = pick(open);
      open.splice(open.indexOf(session), 1);
      facts.push(ended(session, n));
    }
  }
  return facts;
}

test('skimming the log gives the same table as reading all of it', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let round = 0; round < 200; round++) {
    // The table detects duplicates in the records that it reads; for ended sessions it counts them twice.
    const facts = [...new Map(history(random).map((fact) => [fact.id, fact])).values()];
    const whole = tableOf(...facts);
    const twice = tableOf(...facts.flatMap((fact) => [fact, fact]));
    const skimmed = createSessionTable();
    let parsed = 0;
    facts.forEach((fact, offset) => {
      const heading = { type: fact.type, subject: fact.subject, at: { partition: 0, offset } };
      if (!skimmed.wants(heading, true)) return;
      parsed += 1;
      skimmed.apply(fact);
    });
    expect(parsed).toBe(facts.filter(({ type }) => type !== 'interaction.completed').length);
    for (let next = skimmed.nextUnread(); next !== undefined; next = skimmed.nextUnread())
      skimmed.read(next, facts[next.offset]);
    const shown = (table: SessionTable) =>
      table.list('ann').map(({ has: _, steps, last, ended: end, ...rest }) => ({
        ...rest,
        steps: steps(),
        end,
        last: end === undefined ? last : undefined,
      }));
    expect(shown(skimmed)).toEqual(shown(whole));
    expect(shown(twice)).toEqual(shown(whole));
    expect(skimmed.openCount()).toBe(whole.openCount());
    expect(new Set(whole.list('ann').map(({ sessionKey }) => sessionKey)).size).toBeGreaterThanOrEqual(
      whole.openCount(),
    );
  }
});

test('the steps of an open session are its trainable answers, with place and answered messages', () => {
  const said = (role: string, content: string) => ({ role, content });
  const first = [said('system', 'You act.'), said('user', 'Begin.')];
  const second = [...first, said('assistant', 'on a'), said('user', 'You see a door. ')];
  const table = tableOf(
    started('s'),
    answered('s', 'a', 0, { messages: first }),
    answered('s', 'title', 0, { turnType: 'side' }),
    answered('s', 'b', 0, { messages: second }),
    answered('s', 'b', 0, { messages: second }),
    answered('s', 'c', 0, { messages: [said('user', 'Another agent.')] }),
  );
  expect(table.of('k-s')!.steps()).toEqual([
    { id: 'a', observed: [observedHash('Begin.')], continues: null, isContinued: true },
    { id: 'b', observed: [observedHash('You see a door.')], continues: 'a', isContinued: false },
    { id: 'c', observed: [observedHash('Another agent.')], continues: null, isContinued: false },
  ]);
  table.apply(ended('s'));
  expect(table.of('k-s')!.steps()).toEqual([]);
});

test('a table that goes on from a stored state still knows the answers that were only noted', () => {
  const skimmed = createSessionTable();
  const place = { partition: 0, offset: 7 };
  for (const event of [started('s'), started('t', 1)]) skimmed.apply(event);
  for (const subject of ['lane-s', 'lane-unknown'])
    skimmed.wants({ type: 'interaction.completed', subject, at: place }, true);
  const stored: unknown = JSON.parse(JSON.stringify(skimmed.state()));
  const table = createSessionTable({ from: sessionsState.parse(stored) });
  expect(table.of('k-s')).toMatchObject({ interactions: 1 });
  table.read(table.nextUnread()!, answered('s', 'a'));
  expect(table.nextUnread()).toBeUndefined();
  expect(table.of('k-s')).toMatchObject({ interactions: 1, last: 'a', ended: undefined });
  expect(table.openCount()).toBe(2);
});
