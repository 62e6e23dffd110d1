import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { packPlace, unpackPlace } from '../../../shared/views/place.ts';
import { allTurns } from '../testing/all-turns.ts';
import { findTurns } from './find-turns.ts';
import { learningView } from './learning.ts';
import { createShownTexts } from './texts.ts';
import { createTurnRows } from './turns/turn-rows.ts';

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

const topicFor = (type: string): Topic => (type.startsWith('interaction') ? 'conversations' : 'turns');

function rowsOf(...events: readonly ClawLoopEvent[]) {
  const rows = createTurnRows();
  for (const [offset, one] of events.entries())
    rows.on({ event: one, at: { partition: 1, offset }, time: 0 }, topicFor(one.type));
  return rows;
}

/** The texts of these events, as the console reads them from their places. */
const textsOf = (events: readonly ClawLoopEvent[]) =>
  createShownTexts({ read: async (_topic, { offset }) => events[offset]! });

const idsIn =
  (...events: readonly ClawLoopEvent[]) =>
  async (filter: object, limit = 10) => {
    const { turns } = await findTurns(rowsOf(...events), filter, { limit, texts: textsOf(events) });
    return turns.map(({ row }) => row.id);
  };

test.each([
  { topic: 'conversations', partition: 0, offset: 0 },
  { topic: 'turns', partition: 63, offset: 123_456_789 },
  { topic: 'dead-letters', partition: 255, offset: 2 ** 40 - 1 },
] as const)('a place survives packing: $topic', (place) => {
  expect(unpackPlace(packPlace(place))).toEqual(place);
});

test('turns of all partitions are in order of time, whatever the order of reading', async () => {
  const ids = idsIn(answered('c', { at: 3 }), answered('a', { at: 1 }), answered('b', { at: 2 }));
  expect(await ids({})).toEqual(['c', 'b', 'a']);
});

test('filters by version, person, verdict and words find what they say', async () => {
  const ids = idsIn(
    answered('a', { at: 1, text: 'How do I clean a pan?' }),
    answered('b', { at: 2, version: 2, key: 'ann', text: 'A quick BREAKFAST, please' }),
    completed('a', 's', 'Great, thank you'),
    judged('a', 1),
  );
  expect(await ids({ version: 2 })).toEqual(['b']);
  expect(await ids({ person: 'ann' })).toEqual(['b']);
  expect(await ids({ verdict: 'good' })).toEqual(['a']);
  expect(await ids({ words: 'breakfast quick' })).toEqual(['b']);
  expect(await ids({ words: 'great' })).toEqual(['a']);
  expect(await ids({ words: 'breakfast great' })).toEqual([]);
  expect(await ids({ session: 's' })).toEqual(['a']);
});

test('pages of a search by words give every turn once', async () => {
  const events = Array.from({ length: 100 }, (_, i) =>
    answered(`t-${String(i).padStart(3, '0')}`, { at: i, text: i % 3 === 0 ? 'a pan' : 'a pot' }),
  );
  const rows = rowsOf(...events);
  const texts = textsOf(events);
  const found: string[] = [];
  for (let cursor: string | undefined, page = 0; page < 100; page++) {
    const { turns, next } = await findTurns(rows, { words: 'pan' }, { cursor, limit: 7, texts });
    found.push(...turns.map(({ row }) => row.id));
    if (next === null) break;
    cursor = next;
  }
  expect(found).toEqual(
    events
      .filter((_, i) => i % 3 === 0)
      .map(({ id }) => id)
      .reverse(),
  );
});

test('a secret is never shown, a long text only in part, and the table keeps no words', async () => {
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ456789';
  const events = [answered('a', { text: `${'x'.repeat(230)} ${secret} ${'y'.repeat(5_000)}` })];
  const rows = rowsOf(...events);
  const { asked, answered: answer } = await textsOf(events)(rows.turn('a')!.row);
  expect(asked.length).toBe(240);
  expect(asked).not.toContain('ghp_');
  expect(answer).toBe('an answer');
  expect(JSON.stringify(allTurns(rows))).not.toMatch(/xxx|an answer/);
});

test('learning is counted by version, and verdicts of 0 are left out of the share', () => {
  const rows = rowsOf(
    answered('a', { at: 1 }),
    answered('b', { at: 2 }),
    answered('c', { at: 3, version: 1 }),
    answered('d', { at: 4, version: 1 }),
    judged('a', -1),
    judged('b', 0),
    judged('c', 1),
    judged('d', 1),
  );
  const { versions, all, sentence } = learningView(rows, 'default');
  expect(versions).toMatchObject([
    { version: 0, good: 0, bad: 1, neither: 1, turns: 2, total: 1, share: 0 },
    { version: 1, good: 2, bad: 0, neither: 0, turns: 2, total: 2, share: 1 },
  ]);
  expect(all).toMatchObject({ turns: 4, good: 2, bad: 1, neither: 1 });
  expect(sentence).toBe('3 turns: too few to tell.');
});

test('a complaint counts the sessions since it was last heard, without its own', () => {
  const rows = rowsOf(
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
  expect(learningView(rows, 'default').complaints).toMatchObject([
    { wish: 'no-list', times: 1, lastTurn: 'a', sessionsSince: 2 },
  ]);
});

test('of turns at the time of the complaint, those with a later id come after it', () => {
  const rows = rowsOf(
    ...['a', 'b', 'c'].map((id) => answered(id, { at: 1 })),
    ...['a', 'b', 'c'].map((id) => completed(id, `session of ${id}`, 'ok')),
    judged('b', -1, ['No lists, please.']),
  );
  expect(learningView(rows, 'default').complaints).toMatchObject([{ lastTurn: 'b', sessionsSince: 1 }]);
});
