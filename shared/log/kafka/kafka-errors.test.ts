import { expect, test } from 'vitest';
import { errorType, unavailable, whenCoordinated, whenLed } from './kafka-errors.ts';

const broken = (type: string) => Object.assign(new Error(type.toLowerCase()), { type });

test("the broker's innermost error type is found", () => {
  const wrapped = new Error('gave up', { cause: new Error('again', { cause: broken('NOT_COORDINATOR') }) });
  expect(errorType(wrapped)).toBe('NOT_COORDINATOR');
  expect(errorType(new Error('no type'))).toBe('');
});

test('a record that is too large is a different error from an unavailable log', () => {
  expect(unavailable('appending', broken('MESSAGE_TOO_LARGE')).name).toBe('RecordTooLarge');
  const failure = unavailable('appending', new Error('connect ECONNREFUSED'));
  expect(failure.name).toBe('LogUnavailable');
  expect(failure.message).toContain('appending: connect ECONNREFUSED');
});

test('a call is repeated only while its coordinator or leader is not ready', async () => {
  const failing = (types: string[]) => async () => {
    const type = types.shift();
    if (type !== undefined) throw broken(type);
    return 'done';
  };
  expect(await whenCoordinated(failing(['CONCURRENT_TRANSACTIONS', 'GROUP_LOAD_IN_PROGRESS']))).toBe('done');
  await expect(whenCoordinated(failing(['INVALID_PRODUCER_EPOCH']))).rejects.toThrow(
    'invalid_producer_epoch',
  );
  let refreshed = 0;
  const refresh = async () => {
    refreshed += 1;
  };
  expect(await whenLed(failing(['NOT_LEADER_FOR_PARTITION']), refresh)).toBe('done');
  expect(refreshed).toBe(1);
  await expect(whenCoordinated(failing(['NOT_COORDINATOR']), -1)).rejects.toThrow();
});
