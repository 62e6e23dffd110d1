import { expect, test } from 'vitest';
import { diaryOf } from './diary.ts';

const people = Array.from({ length: 200 }, (_, person) => diaryOf(1, person, 72));

test('a diary follows from seed and person', () => {
  expect(diaryOf(1, 3, 72)).toEqual(people[3]);
  expect(diaryOf(2, 3, 72)).not.toEqual(people[3]);
  expect(people[4]).not.toEqual(people[3]);
});

test('conversations pause overnight, come back and end', () => {
  const resumed = people.flatMap((diary) =>
    diary.filter(({ conversation, at, isEnd }) =>
      diary.some((other) => isEnd && other.conversation === conversation && at - other.at > 6),
    ),
  );
  expect(resumed.length).toBeGreaterThan(200);
});

test('each hour has about as many messages', () => {
  const perHour = Array.from({ length: 72 }, () => 0);
  for (const { at, waits } of people.flat()) perHour[Math.floor(at)]! += waits.length;
  const total = perHour.reduce((sum, one) => sum + one, 0);
  expect(total).toBeGreaterThan(2_500);
  for (const one of perHour) expect(one).toBeGreaterThan(total / 72 / 3);
});
