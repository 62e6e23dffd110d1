import { expect, test } from 'vitest';
import { createWaitNotice } from './wait-notice.ts';

test('a wait is reported at once, then less and less often, and so is its end', () => {
  let seconds = 100;
  const said: string[] = [];
  const notice = createWaitNotice(
    {
      away: (reason, waited) => said.push(`${reason} ${waited}`),
      back: (waited) => said.push(`back ${waited}`),
    },
    () => seconds * 1000,
  );
  notice.back();
  expect(notice.seconds()).toBeUndefined();
  for (let second = 0; second <= 200; second += 1, seconds += 1) notice.away('refused');
  expect(said).toEqual([0, 5, 15, 30, 60, 120, 180].map((waited) => `refused ${waited}`));
  expect(notice.seconds()).toBe(201);
  notice.back();
  notice.back();
  expect(said.at(-1)).toBe('back 201');
  notice.away('again');
  expect(said.at(-1)).toBe('again 0');
});
