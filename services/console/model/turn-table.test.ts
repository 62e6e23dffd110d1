import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { findTurns } from './find-turns.ts';
import { learningView } from './learning.ts';
import { packPlace, unpackPlace } from './place.ts';
import { createTurnTable } from './turn-table.ts';

/** The fields of an event that the table reads. */
const event = (type: ClawLoopEvent['type'], id: string, time: number, data: object): ClawLoopEvent =>
  ({ type, id, subject: 'default', time: new Date(time).toISOString(), data }) as unknown as ClawLoopEvent;

type Said = {
  readonly at?: number;
  readonly version?: number;
  readonly key?: string;
  readonly text?: string;
};

const answered = (id: string, { at = 0, version = 0, key = 'k', text = 'hello' }: Said = {}) =>
  event('interaction.completed', id, at, {
    interactionId: id,
    lane: 'l',
    key,
    adapter: 'default',
    live: true,
    settle: 'votes',
    version,
    messages: [{ role: 'user', content: text }],
    answer: { role: 'assistant', content: 'an answer' },
  });
const completed = (id: string, session: string, reaction: string) =>
  event('turn.completed', `${id}/completed`, 0, {
    turnId: id,
    session,
    settle: 'votes',
    rule: 'conversation',
    next: [{ role: 'user', content: reaction }],
    from: null,
  });
const judged = (id: string, score: number, hints: readonly string[] = []) =>
  event('judgment.reached', `${id}/judgment`, 0, { turnId: id, score, source: 'votes', hints });

function tableOf(...events: readonly ClawLoopEvent[]) {
  const table = createTurnTable();
  const topicOf = (type: string): Topic => (type.startsWith('interaction') ? 'conversations' : 'turns');
  for (const [offset, one] of events.entries())
    table.on({ event: one, at: { partition: 1, offset }, time: 0 }, topicOf(one.type));
  return table;
}

const ids = (table: ReturnType<typeof tableOf>, filter: object) =>
  findTurns(table, filter, { limit: 10 }).turns.map(({ row }) => row.id);

test.each([
  { topic: 'conversations', partition: 0, offset: 0 },
  { topic: 'turns', partition: 63, offset: 123_456_789 },
  { topic: 'dead-letters', partition: 255, offset: 2 ** 40 - 1 },
] as const)('a place survives packing: $topic', (place) => {
  expect(unpackPlace(packPlace(place))).toEqual(place);
});

test('turns of all partitions are in order of time, whatever the order of reading', () => {
  const table = tableOf(answered('c', { at: 3 }), answered('a', { at: 1 }), answered('b', { at: 2 }));
  expect(ids(table, {})).toEqual(['c', 'b', 'a']);
});

test('filters by version, person, verdict and words find what they say', () => {
  const table = tableOf(
    answered('a', { at: 1, text: 'How do I clean a pan?' }),
    answered('b', { at: 2, version: 2, key: 'ann', text: 'A quick BREAKFAST, please' }),
    completed('a', 's', 'Great, thank you'),
    judged('a', 1),
  );
  expect(ids(table, { version: 2 })).toEqual(['b']);
  expect(ids(table, { person: 'ann' })).toEqual(['b']);
  expect(ids(table, { verdict: 'good' })).toEqual(['a']);
  expect(ids(table, { words: 'breakfast quick' })).toEqual(['b']);
  expect(ids(table, { words: 'great' })).toEqual(['a']);
  expect(ids(table, { words: 'breakfast great' })).toEqual([]);
  expect(ids(table, { session: 's' })).toEqual(['a']);
});

test('a secret is never kept, and a long text only in part', () => {
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ456789';
  const table = tableOf(answered('a', { text: `${'x'.repeat(230)} ${secret} ${'y'.repeat(5_000)}` }));
  const { asked } = table.view('a');
  expect(asked.length).toBe(240);
  expect(asked).not.toContain('ghp_');
});

test('learning is counted by version, and verdicts of 0 are left out of the share', () => {
  const table = tableOf(
    answered('a', { at: 1 }),
    answered('b', { at: 2 }),
    answered('c', { at: 3, version: 1 }),
    answered('d', { at: 4, version: 1 }),
    judged('a', -1),
    judged('b', 0),
    judged('c', 1),
    judged('d', 1),
  );
  const { versions, all, sentence } = learningView(table, 'default');
  expect(versions).toMatchObject([
    { version: 0, good: 0, bad: 1, neither: 1, turns: 2, total: 1, share: 0 },
    { version: 1, good: 2, bad: 0, neither: 0, turns: 2, total: 2, share: 1 },
  ]);
  expect(all).toMatchObject({ turns: 4, good: 2, bad: 1, neither: 1 });
  expect(sentence).toBe('3 turns: too few to tell.');
});

test('a complaint counts the sessions since it was last heard, without its own', () => {
  const table = tableOf(
    answered('a', { at: 1 }),
    answered('b', { at: 2 }),
    answered('c', { at: 3 }),
    answered('d', { at: 4 }),
    completed('a', 's1', 'No lists, please.'),
    completed('b', 's1', 'ok'),
    completed('c', 's2', 'ok'),
    completed('d', 's3', 'ok'),
    judged('a', -1, ['No lists, please.']),
  );
  expect(learningView(table, 'default').complaints).toMatchObject([
    { wish: 'no-list', times: 1, lastTurn: 'a', sessionsSince: 2 },
  ]);
});
