import { openBullQueue } from '../../shared/queue/bullmq/open-bull-queue.ts';
import { withRedis } from './bullmq-redis.ts';
import { jobQueueContract } from './job-queue.ts';

withRedis('on Redis', (redis) => {
  jobQueueContract('BullMQ', (name, settings) =>
    openBullQueue(name, settings, { url: redis().url, prefix: 'clawloop-test' }),
  );
});
