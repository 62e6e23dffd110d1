import { expect, test } from 'vitest';
import type { EventLog } from '../../shared/log/event-log.ts';
import { createCheckSettings } from './check-settings.ts';

const settings = { watch: { alpha: 0.01, margin: 0, pauseAfter: 3 }, training: { canaryShare: 0.1 } };

test('the last settings of the partition, asked for once a minute, and kept while the log is away', async () => {
  let [asked, now, isAway] = [0, 0, false];
  const stretch = { topic: 'training', partition: 1, from: 0, settings: { training: {} } } as const;
  const answers: Awaited<ReturnType<EventLog['stretches']>>[] = [
    [],
    [stretch, { ...stretch, from: 5, settings }],
  ];
  const log: Pick<EventLog, 'stretches'> = {
    stretches: () => {
      const answer = answers[asked++];
      return answer === undefined ? Promise.reject(new Error('away')) : Promise.resolve(answer);
    },
  };
  const of = createCheckSettings(
    log,
    () => isAway,
    () => now,
  );
  expect(await of(1)).toBeNull(); // nothing is folded yet: asked again
  expect(await of(1)).toEqual(settings);
  expect(await of(0)).toBeNull();
  expect(asked).toBe(2);
  now = 61_000;
  expect(await of(1)).toEqual(settings);
  expect(asked).toBe(3);
  isAway = true;
  now = 200_000;
  expect(await of(1)).toEqual(settings);
  expect(asked).toBe(3);
});
