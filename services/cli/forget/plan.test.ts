import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { parseEvent, topicOf } from '../../../shared/events/parse-event.ts';
import type { LogContents, PlacedRecord, PlacedRow } from '../../../shared/log/log-contents.ts';
import { completed, event, type Facts, interaction, judged, ready } from '../audit/testing/facts.ts';
import { rowWithout } from './erase-row.ts';
import { planErasure, recordWithout } from './plan.ts';

const order: readonly Topic[] = ['conversations', 'turns', 'training', 'dead-letters'];

type Log = Omit<LogContents, 'records'> & { readonly records: () => readonly PlacedRecord[] };

/** A log with these facts that all groups have read, or only up to the offset `position`. */
function logOf(
  facts: readonly Facts[],
  rows: readonly PlacedRow[] = [],
  { position = 1_000, rowsVersion = 1 } = {},
): Log {
  const events = facts.flat(10) as readonly ClawLoopEvent[];
  const records = order.flatMap((topic) =>
    events
      .filter((one) => topicOf(one) === topic)
      .map((one, offset) => ({
        ...{ topic, partition: 0, offset, type: one.type, subject: one.subject },
        body: JSON.stringify(one),
      })),
  );
  return {
    records: () => records,
    rows: () => rows,
    groups: () => [{ group: 'attribute', topic: 'conversations', partition: 0, position, rowsVersion }],
  };
}

const LONG = 'Where does the zanzibarquokka sleep at night?';
const asked = (content: string) => [{ role: 'user', content }];
/** A turn of a session of its own, `chat-<id>`, that waits for its batch. */
const turn = (id: string, data = {}): readonly Facts[] => [
  interaction(id, true, 0, { messages: asked(`${LONG} ${id}`), ...data }),
  completed(id, { messages: asked(`${LONG} ${id}`), ...data }),
  judged(id, { hints: ['Mention the zanzibarquokka.'] }),
  ready(id, { messages: asked(`${LONG} ${id}`), hints: ['Mention the zanzibarquokka.'] }),
];
const dropped = (id: string) => event('sample.dropped', `${id}/dropped`, { sampleId: id, reason: 'stale' });

test('a session, an access key and an answer name what is erased', async () => {
  const log = logOf([...turn('a'), ...turn('b'), ...turn('c', { key: 'hers' })]);
  const turnsOf = async (word: string, key?: string) =>
    [...(await planErasure(log, word, key)).selection.turns].sort();
  expect(await turnsOf('chat-a')).toEqual(['a']);
  expect(await turnsOf('a')).toEqual(['a']);
  expect(await turnsOf('mine')).toEqual(['a', 'b']);
  await expect(turnsOf('nobody')).rejects.toThrow(/no session, access key or answer nobody/);
  await expect(turnsOf('chat-a', 'hers')).rejects.toThrow(/no session/);
});

test('a session name of several access keys has to be told apart', async () => {
  const named = { session: 'same' };
  const log = logOf([...turn('a', named), ...turn('b', { ...named, key: 'hers' })]);
  await expect(planErasure(log, 'same', undefined)).rejects.toThrow(/add --key with one of hers, mine/);
  expect([...(await planErasure(log, 'same', 'hers')).selection.turns]).toEqual(['b']);
});

test('no word stays in a record of the selection, every erased record can be read, and others stay', async () => {
  const log = logOf([...turn('a'), ...turn('b'), dropped('a')]);
  const { selection, records } = await planErasure(log, 'chat-a', undefined);
  expect(records).toEqual({
    ...{ 'interaction.completed': 1, 'turn.completed': 1, 'judgment.reached': 1, 'sample.ready': 1 },
  });
  for (const record of log.records()) {
    const erased = recordWithout(record, selection, '2026-03-01T00:00:00.000Z');
    const isHers = ['a', 'a/completed', 'a/judgment', 'a/ready'].includes(JSON.parse(record.body).id);
    expect(erased !== undefined).toBe(isHers);
    if (erased === undefined) continue;
    expect(erased).not.toMatch(/zanzibarquokka|It is that/);
    const parsed = parseEvent(erased);
    expect(parsed).toMatchObject({ kind: 'event', event: { erased: '2026-03-01T00:00:00.000Z' } });
    expect(recordWithout({ ...record, body: erased }, selection, '2026-04-01T00:00:00.000Z')).toBeUndefined();
  }
});

test('a next state takes the interaction with it that holds the same words', async () => {
  const log = logOf([...turn('a'), interaction('b'), completed('a', { from: 'b' })]);
  expect([...(await planErasure(log, 'a', undefined)).selection.turns].sort()).toEqual(['a', 'b']);
});

test('a request beside the conversation that repeats it goes too; another session is named only', async () => {
  const title = interaction('title', true, 0, { messages: asked(`Write a title: ${LONG} a`) });
  const skipped = event('turn.skipped', 'title/skipped', { turnId: 'title', reason: 'side', by: 'title' });
  const log = logOf([
    ...turn('a'),
    title,
    skipped,
    interaction('x'),
    ...turn('b', { messages: asked(`${LONG} a`) }),
  ]);
  const { selection, repeated } = await planErasure(log, 'chat-a', undefined);
  expect([...selection.turns].sort()).toEqual(['a', 'title']);
  expect(repeated).toEqual(new Map([['chat-b', 1]]));
});

test('open turns, and folds that have not read the records, are waited for', async () => {
  expect(await planErasure(logOf(turn('a')), 'a', undefined)).toMatchObject({ open: ['a'], behind: [] });
  expect((await planErasure(logOf([...turn('a'), dropped('a')]), 'a', undefined)).open).toEqual([]);
  expect((await planErasure(logOf(turn('a'), [], { position: 0 }), 'a', undefined)).behind).toEqual([
    'attribute in conversations/0',
  ]);
});

test('a record that cannot be read goes if it names the selection; one of a newer version stops the command', async () => {
  const log = logOf(turn('a'));
  const { selection } = await planErasure(log, 'a', undefined);
  const record = (body: string) => ({ ...[...log.records()][0]!, body });
  const time = '2026-03-01T00:00:00.000Z';
  expect(recordWithout(record('{"id":"a","text":"zanzibarquokka"'), selection, time)).toBe(
    `{"erased":"${time}"}`,
  );
  expect(recordWithout(record('{"id":"b","text":"other"'), selection, time)).toBeUndefined();
  const newer = JSON.stringify({ ...event('session.ended', 'a', {}), type: 'words.sung' });
  expect(() => recordWithout(record(newer), selection, time)).toThrow(/update ClawLoop/);
});

test('rows lose hints, comments and hashes of the selection only', async () => {
  const { selection } = await planErasure(logOf(turn('a')), 'a', undefined);
  const without = (key: string, row: unknown) =>
    rowWithout({ group: 'g', subject: 'l', key, row: JSON.stringify(row) }, selection);
  expect(without('settled-verdict/a', { score: 1, hints: ['zanzibarquokka'] })).toBe(
    '{"score":1,"hints":["[words erased]"]}',
  );
  expect(
    without('turn/a', { votes: { 0: { vote: -1, hint: 'zanzibarquokka' } }, hints: { 0: 'x', 1: null } }),
  ).toBe('{"votes":{"0":{"vote":-1,"hint":"[words erased]"}},"hints":{"0":"[words erased]","1":null}}');
  expect(without('settled-verdict/b', { hints: ['zanzibarquokka'] })).toBeUndefined();
  expect(without('x/b', { rule: 'chat-a', hints: ['zanzibarquokka'] })).toBeUndefined();
  expect(without('x/b', { session: 'chat-a', key: 'hers', hints: ['zanzibarquokka'] })).toBeUndefined();
  expect(without('x/b', { session: 'chat-a', hints: ['zanzibarquokka'] })).toContain('[words erased]');
  expect(without('said/mine/1234', ['chat-a'])).toBeNull();
  expect(without('said/mine/1234', ['chat-b'])).toBeUndefined();
  expect(without('said/hers/1234', ['chat-a'])).toBeUndefined();
  const first = (id: string) => ({ id, session: `chat-${id}`, words: [1, 2] });
  expect(without('first-request/mine/latest', [first('a'), first('b')])).toBe(JSON.stringify([first('b')]));
});

test.each([0, 2])('rows of version %i are not searched for words', async (rowsVersion) => {
  await expect(planErasure(logOf(turn('a'), [], { rowsVersion }), 'a', undefined)).rejects.toThrow(
    `the rows of attribute for conversations/0 have version ${rowsVersion}, and this version of ClawLoop`,
  );
});

test('a request that names no session, and that the collector has not read, is waited for', async () => {
  const hi = asked('hi');
  const goesOn = [...hi, { role: 'assistant', content: 'Hello!' }, ...asked('My PIN is 4711')];
  const facts = [
    interaction('a', true, 0, { messages: hi }),
    event('turn.skipped', 'a/skipped', { turnId: 'a', reason: 'side', by: 'a', session: 'chat-a' }),
    interaction('b', true, 0, { messages: goesOn }),
  ];
  const behind = async (position: number) =>
    (await planErasure(logOf(facts, [], { position }), 'chat-a', undefined)).behind;
  expect(await behind(1)).toEqual(['attribute in conversations/0']);
  expect(await behind(2)).toEqual([]);
});
