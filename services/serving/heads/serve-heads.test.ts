import { expect, test } from 'vitest';
import { serveHeads } from './serve-heads.ts';

type State = { served?: number; problem?: string };

function deps(states: Readonly<Record<string, State>>) {
  const heads = serveHeads(Object.keys(states), (adapter) => ({
    served: () => states[adapter]!.served,
    problem: () => states[adapter]!.problem,
  }));
  return { heads, states };
}

test('ready when one adapter is served, and the others are served or have failed', () => {
  const { heads, states } = deps({ alice: {}, bob: {} });
  expect(heads.missing()).toBe('loading the policy');
  states.alice!.served = 3;
  expect(heads.missing()).toBe('loading the policy');
  states.bob!.problem = 'version 2 cannot be loaded';
  expect(heads.missing()).toBeUndefined();
  expect([heads.unserved('alice'), heads.unserved('bob')]).toEqual([undefined, 'version 2 cannot be loaded']);
  states.bob!.served = 1; // the version before is
  expect(heads.unserved('bob')).toBeUndefined();
});

test('not ready with a reason when no adapter can be served', () => {
  const { heads } = deps({ alice: { problem: 'its digest differs' }, bob: { problem: 'gone' } });
  expect(heads.missing()).toBe('its digest differs');
});
