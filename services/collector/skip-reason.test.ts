import { expect, test } from 'vitest';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { laterReasons, skipRules } from './skip-reason.ts';

test('every reason of turn.skipped is explained', () => {
  const explained = [...skipRules.map(({ reason }) => reason), ...Object.keys(laterReasons)].sort();
  expect(explained).toEqual([...TurnSkipped.schema.shape.reason.options].sort());
});
