import { expect, test } from 'vitest';
import { splitAction } from './options.ts';

test('without an action the fallback applies, also before flags', () => {
  expect(splitAction([], 'list')).toEqual({ action: 'list', rest: [] });
  expect(splitAction(['--why', '-n', '3'], 'list')).toEqual({ action: 'list', rest: ['--why', '-n', '3'] });
  expect(splitAction(['show', 'x', '--json'], 'list')).toEqual({ action: 'show', rest: ['x', '--json'] });
});
