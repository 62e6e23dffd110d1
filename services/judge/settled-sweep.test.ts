import { expect, test } from 'vitest';
import { memoryRows } from '../../shared/log/rows.ts';
import { judgeFold } from './judge-fold.ts';
import type { JudgeSettings } from './judge-settings.ts';
import { sessionClosed, turnCompleted, voteCast } from './testing/events.ts';

const HOUR_MS = 3_600_000;
const settings: JudgeSettings = { votes: 1, revises: true, sweepsAtClose: true };

/** Names of the rows of a judged turn, after sessions of the same lane were closed at these hours. */
function keptAfter(closings: readonly number[], rules = settings): readonly string[] {
  const rows = memoryRows();
  const turn = turnCompleted('t');
  const closed = closings.map((hour) => ({
    ...sessionClosed(`s${hour}`),
    time: new Date(Date.parse(turn.time) + hour * HOUR_MS).toISOString(),
  }));
  for (const [offset, event] of [turn, voteCast('t', 0, 1), ...closed].entries())
    rows.apply(judgeFold.on(rows, event, { partition: 0, offset }, rules).changes);
  return [...rows.entries('settled/'), ...rows.entries('settled-verdict/')].map(([name]) => name);
}
const both = ['settled/t', 'settled-verdict/t'];

test('a lane whose later sessions settle no turn forgets a judged turn after a day, so that trims go on', () => {
  expect(keptAfter([12, 23])).toEqual(both);
  expect(keptAfter([12, 25, 40])).toEqual([]);
});

test('a log of an earlier program is folded as before', () => {
  expect(keptAfter([12, 25, 40, 70, 100], { ...settings, sweepsAtClose: false })).toEqual(both);
});
