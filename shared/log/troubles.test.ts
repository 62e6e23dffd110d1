import { expect, test } from 'vitest';
import { createTroubles } from './troubles.ts';

test('a failure that lasts five seconds is a trouble with its last reason, until the call succeeds', () => {
  let ms = 0;
  const troubles = createTroubles(() => ms);
  troubles.failed('judge', 'turns/1', new Error('first'));
  ms = 4_999;
  expect(troubles.of('judge')).toEqual([]);
  troubles.failed('judge', 'turns/1', new Error('last'));
  ms = 5_000;
  expect(troubles.of('judge')).toEqual(['turns/1: last']);
  expect(troubles.of('trainer')).toEqual([]);
  troubles.worked('judge', 'turns/1');
  expect(troubles.of('judge')).toEqual([]);
});

test('a success restarts the count', () => {
  let ms = 0;
  const troubles = createTroubles(() => ms);
  troubles.failed('judge', 'turns/1', new Error('first'));
  troubles.worked('judge', 'turns/1');
  ms = 5_000;
  troubles.failed('judge', 'turns/1', new Error('second'));
  expect(troubles.of('judge')).toEqual([]);
});
