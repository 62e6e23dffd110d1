import { expect, test } from 'vitest';
import { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import {
  feedback,
  interaction,
  interactionWithdrawn,
  responseDeleted,
  sessionEnded,
  timeAt,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import { emittedLines, goesOn, hi } from './testing/short-chat.ts';

const a = interaction({ id: 'a', messages: hi, answer: 'hello' });
const goneOn = interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' });
const gone = responseDeleted({ id: 'a/deleted' }, 'a', 'default');

test('deleting an open turn skips it, and later messages do not complete it', () => {
  expect(emittedLines([a, gone, gone, goneOn])).toEqual(['skipped a: deleted']);
  expect(emittedLines([a, feedback({ id: 'f' }, 'a', 1), gone, sessionEnded({ id: 'e' }, 'chat-a')])).toEqual(
    ['skipped a: deleted', 'feedback a: 1', 'closed chat-a'],
  );
  const rewarded = interaction({ id: 'r', messages: hi, answer: 'x', session: 's', settle: 'reward' });
  const end = sessionEnded({ id: 'e' }, 's');
  expect(
    emittedLines([rewarded, feedback({ id: 'f' }, 'r', 1), responseDeleted({ id: 'd' }, 'r'), end]),
  ).toEqual(['skipped r: deleted', 'feedback r: 1', 'closed s']);
});

test('deleting a completed turn withdraws it, once', () => {
  expect(emittedLines([a, goneOn, gone, gone])).toEqual(['completed a <- thanks', 'withdrawn a: default']);
});

test('an early deletion applies to its answer, unless from another access key', () => {
  expect(emittedLines([gone, a, goneOn])).toEqual(['withdrawn a: default', 'skipped a: deleted']);
  const other = responseDeleted({ id: 'd', key: 'other' }, 'a');
  expect(emittedLines([a, other, goneOn])).toEqual(['withdrawn a: of some adapter', 'completed a <- thanks']);
});

test('an early deletion waits for an answer that a clock ahead dates a day later, and for no more than a week', () => {
  const day = 24 * 60;
  const chat = (id: string, at: number) => interaction({ id, at, messages: [user(`${id}?`)], answer: 'y' });
  // the lane goes on for a day and some hours before the answer comes from an outbox
  const meanwhile = [chat('x', 20 * 60), chat('y', day + 90), chat('z', day + 200), chat('w', day + 300)];
  const late = { ...a, time: timeAt(day - 6) };
  const settings = { keepsDeletions: true };
  const outcomes = (given: typeof settings | object) =>
    runFold(attribute, [gone, ...meanwhile, late, goneOn], given).emitted.map(brief);
  expect(outcomes(settings)).toContain('skipped a: deleted');
  expect(outcomes({})).not.toContain('skipped a: deleted');
  const weekLater = [8 * day, 8 * day + 90].map((at) => chat(`at ${at}`, at));
  const { rows } = runFold(attribute, [gone, ...meanwhile, ...weekLater], settings);
  expect([...rows.get('lane')!.entries('deleted/')]).toEqual([]);
});

test('a turn that the lane has forgotten is withdrawn, and that is forgotten too', () => {
  const day = 24 * 60;
  const over = [a, goneOn, sessionEnded({ id: 'e' }, 'chat-a')];
  const forgotten = LaneForgotten.create({
    id: 'forgotten',
    source: 'test',
    time: timeAt(day),
    data: { lane: 'lane', last: timeAt(0) },
  });
  const late = responseDeleted({ id: 'a/deleted', at: 3 * day }, 'a', 'default');
  expect(emittedLines([...over, forgotten, late]).at(-1)).toBe('withdrawn a: default');
  expect(emittedLines([...over, forgotten, gone]).at(-1)).toBe('withdrawn a: default'); // an earlier interaction, from an outbox
  const later = interaction({ id: 'z', at: 6 * day, messages: [user('x')], answer: 'y' });
  const hourLater = interaction({ id: 'z2', at: 6 * day + 60, messages: [user('w')], answer: 'y' });
  const { rows } = runFold(attribute, [...over, forgotten, late, later, hourLater], {});
  expect([...rows.get('lane')!.entries('deleted/')]).toEqual([]);
});

test("an operator's withdrawal has its own reason and never moves the lane's time", () => {
  const takenBack = interactionWithdrawn({ id: 'a/taken-back', at: 100 * 24 * 60 }, 'a');
  expect(emittedLines([a, takenBack, goneOn])).toEqual(['skipped a: withdrawn']);
  expect(emittedLines([a, goneOn, takenBack, takenBack])).toEqual([
    'completed a <- thanks',
    'withdrawn a: default',
  ]);
  const { emitted } = runFold(attribute, [a, goneOn, takenBack], {});
  const { emitted: after } = runFold(assemble, emitted, { atLeastOne: true });
  expect(after.map(brief)).toEqual(['dropped a: withdrawn']);
  const later = interaction({ id: 'c', at: 2, messages: hi, answer: 'again' });
  expect(emittedLines([a, takenBack, later]).filter((line) => line.includes('too-late'))).toEqual([]);
});
