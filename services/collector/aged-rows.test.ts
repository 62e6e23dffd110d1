import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { DAY_MS } from '../../shared/log/event-clock.ts';
import { attribute } from './attribute.ts';
import type { AttributeSettings } from './fold-settings.ts';
import { assistant, feedback, interaction, sessionEnded, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const DAY = DAY_MS / 60_000;
const ages: AttributeSettings = { atOnce: true, clients: true, agesRows: true };

/** A chat of five questions under the same session name, on each day. */
function daily(days: number, endsEachDay = true): readonly ClawLoopEvent[] {
  return Array.from({ length: days }, (_, day) => {
    const said = Array.from({ length: 5 }, (_, turn) => [
      user(`What did we decide on day ${day} about question ${turn}?`),
      assistant(`On day ${day} we decided to answer question ${turn} in full.`),
    ]);
    const chat = said.map(([question, answer], turn) =>
      interaction({
        id: `${day}-${turn}`,
        at: day * DAY + turn,
        session: 'main',
        messages: [...said.slice(0, turn).flat(), question!],
        answer: answer!,
      }),
    );
    const last = { epoch: `${day}-0`, last: `${day}-4` };
    return endsEachDay
      ? [...chat, sessionEnded({ id: `end${day}`, at: day * DAY + 366 }, 'main', last)]
      : chat;
  }).flat();
}

const rowsAfter = (events: readonly ClawLoopEvent[], settings: AttributeSettings): number =>
  runFold(attribute, events, settings).rows.get('lane')!.size();

test('a session name that is used every day keeps the rows of a week', () => {
  const [afterTwo, afterSix] = [rowsAfter(daily(14), ages), rowsAfter(daily(42), ages)];
  expect(afterTwo).toBeGreaterThan(7 * 5);
  expect(afterSix).toBe(afterTwo);
});

test('a session that never ends keeps in addition only what its open turns need', () => {
  const settled = (days: number) =>
    [...runFold(attribute, daily(days, false), ages).rows.get('lane')!.entries('')].filter(
      ([name, row]) => !/^(answer|prompt)\//.test(name) && (row as { status?: string }).status !== 'open',
    ).length;
  expect(settled(14)).toBeGreaterThan(7 * 5);
  expect(settled(42)).toBe(settled(14));
});

test('a log of an earlier program is folded as before, and goes on with ages', () => {
  const { agesRows: _, ...before } = ages;
  const [first, rest] = [daily(42).slice(0, 14 * 6), daily(42).slice(14 * 6)];
  const earlier = runFold(attribute, first, before);
  const [kept, size] = [earlier.rows.get('lane')!, earlier.rows.get('lane')!.size()];
  expect(size).toBeGreaterThan(rowsAfter(first, ages));
  const later = runFold(attribute, rest, ages, { rows: earlier.rows });
  expect(later.emitted.map(brief)).toEqual(runFold(attribute, rest, ages).emitted.map(brief));
  expect(kept.size()).toBeLessThan(size + rowsAfter(daily(14), ages));
});

test('within the week, an old answer can be rated and its conversation goes on', () => {
  const chat = daily(5);
  const [question, answer] = [chat[0]!, chat[1]!];
  if (question.type !== 'interaction.completed' || answer.type !== 'interaction.completed') expect.fail();
  const goesOn = interaction({
    id: 'unnamed',
    at: 4 * DAY + 30,
    messages: [...answer.data.messages, answer.data.answer, user('Why did we?')],
    answer: 'Because it was short.',
  });
  const rated = feedback({ id: 'thumb', at: 4 * DAY + 31 }, '0-1', -1);
  const { emitted, rows } = runFold(attribute, [...chat, goesOn, rated], ages);
  expect(emitted.map(brief)).toContain('feedback 0-1: -1');
  expect(rows.get('lane')!.get('turn/key/unnamed')).toMatchObject({ session: 'main' });
});
