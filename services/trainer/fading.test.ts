import { expect, test } from 'vitest';
import { tokenShares } from '../../shared/policy/losses/reduction.ts';
import { fadedWeights } from './fading.ts';

const of = (key: string, more: object = {}) => ({ key, session: 's', source: 'votes' as const, ...more });

test('a sample fades with every later one of the same person', () => {
  expect(fadedWeights([of('a'), of('b'), of('a'), of('a')], 0.5)).toEqual([0.25, 1, 0.5, 1]);
  expect(fadedWeights([of('a'), of('a')], 1)).toEqual([1, 1]);
});

test('without a key the session identifies a person; tool calls are counted separately', () => {
  const keyless = (session: string) => ({ session, source: 'feedback' as const });
  expect(fadedWeights([keyless('x'), keyless('y'), keyless('x')], 0.5)).toEqual([0.5, 1, 1]);
  const call = of('a', { evidence: 'tool' });
  expect(fadedWeights([of('a'), call, call, of('a')], 0.5)).toEqual([0.5, 0.5, 1, 1]);
});

test('attempts at one task do not fade', () => {
  const reward = of('a', { source: 'reward' });
  expect(fadedWeights([reward, reward, of('a')], 0.5)).toEqual([1, 1, 1]);
});

test('shares of weighted samples sum to 1, and a masked one has none', () => {
  const mask = [[1, 1], [1], [0, 0]];
  const shares = tokenShares(mask, 'sample', [0.25, 0.75, 1]);
  expect(shares.map((row) => [...row])).toEqual([[0.125, 0.125], [0.75], [0, 0]]);
  expect(tokenShares(mask, 'token', [1, 1, 1])).toEqual(tokenShares(mask, 'token'));
  expect([...tokenShares([[0]], 'sample', [0.5])[0]!]).toEqual([0]);
});
