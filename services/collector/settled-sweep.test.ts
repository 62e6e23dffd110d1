import { expect, test } from 'vitest';
import type { InputEvent } from '../../shared/log/fold.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { assemble } from './assemble.ts';
import type { AssembleSettings } from './fold-settings.ts';
import { judgment, sessionClosed, timeAt, turnCompleted } from './testing/events.ts';

const HOUR = 60;
const settings: AssembleSettings = { atLeastOne: false, revises: true, sweepsAtClose: true };

/** Names of the rows of a settled turn, after sessions of the same lane were closed at these hours. */
function keptAfter(closings: readonly number[], rules = settings): readonly string[] {
  const rows = memoryRows();
  const events: readonly InputEvent[] = [
    turnCompleted('t'),
    judgment('t', 1),
    ...closings.map((hour) => ({ ...sessionClosed(`s${hour}`), time: timeAt(hour * HOUR) })),
  ];
  for (const [offset, event] of events.entries())
    rows.apply(assemble.on(rows, event, { partition: 0, offset }, rules).changes);
  return [...rows.entries('settled/'), ...rows.entries('settled-sample/')].map(([name]) => name);
}
const both = ['settled/t', 'settled-sample/t'];

test('a lane whose later sessions settle no turn forgets a settled turn after a day, so that trims go on', () => {
  expect(keptAfter([12, 23])).toEqual(both);
  expect(keptAfter([12, 25, 40])).toEqual([]);
});

test('one clock reading far ahead forgets nothing', () => {
  expect(keptAfter([24 * 30])).toEqual(both);
});

test('a log of an earlier program is folded as before', () => {
  expect(keptAfter([12, 25, 40, 70, 100], { ...settings, sweepsAtClose: false })).toEqual(both);
});
