import { expect, test } from 'vitest';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { laterReasons, skipRules } from './skip-reason.ts';
import { whereDidMyTurnGo } from './where-did-my-turn-go.ts';

test('docs/where-did-my-turn-go.md is what the tables say (else: vitest -u)', async () => {
  await expect(whereDidMyTurnGo()).toMatchFileSnapshot('../../docs/where-did-my-turn-go.md');
});

test('every reason of turn.skipped is explained', () => {
  const explained = [...skipRules.map(({ reason }) => reason), ...Object.keys(laterReasons)].sort();
  expect(explained).toEqual([...TurnSkipped.schema.shape.reason.options].sort());
});
