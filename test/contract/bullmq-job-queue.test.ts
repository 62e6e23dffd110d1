import { describe, expect, test } from 'vitest';
import { openBullQueue } from '../../shared/queue/bullmq/open-bull-queue.ts';
import { withRedis } from './bullmq-redis.ts';
import { jobQueueContract } from './job-queue.ts';
import { jobQueueHarness, jobs, until } from './job-queue-harness.ts';

withRedis('on Redis', (redis) => {
  const place = () => ({ url: redis().url, prefix: 'clawloop-test' });
  jobQueueContract('BullMQ', (name, settings) => openBullQueue(name, settings, place()));

  describe('BullMQ: kept jobs', () => {
    const { openQueue, startWork } = jobQueueHarness((name, settings) =>
      openBullQueue(`kept-${name}`, settings, { ...place(), keptFailed: 3 }),
    );

    test('the oldest failed jobs make room for newer ones, and may be added again', async () => {
      const queue = await openQueue({ attempts: 1 });
      let broken = true;
      const runs: string[] = [];
      await queue.add(jobs('a', 'b', 'c', 'd', 'e'));
      startWork(
        queue,
        async ({ id }) => {
          runs.push(id);
          if (broken) throw new Error('no judge there');
        },
        1,
      );
      await until(async () => {
        expect(runs).toHaveLength(5);
        expect((await queue.failed(10)).map(({ id }) => id)).toEqual(['c', 'd', 'e']);
      });
      broken = false;
      await queue.add(jobs('a', 'b', 'c', 'd', 'e'));
      await until(() => expect(runs).toEqual(['a', 'b', 'c', 'd', 'e', 'a', 'b']));
      await until(async () =>
        expect(await queue.counts()).toEqual({ waiting: 0, running: 0, delayed: 0, failed: 3 }),
      );
    });
  });
});
