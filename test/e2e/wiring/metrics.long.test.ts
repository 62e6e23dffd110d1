import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { testReportedMetrics } from './reported-metrics.ts';

describeWithKafka('on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    testReportedMetrics((name) => [
      '--log',
      'kafka',
      '--kafka-brokers',
      kafka().brokers.join(','),
      ...(name === 'judge' || name === 'trainer' ? ['--queue', 'redis', '--redis-url', redis().url] : []),
    ]);
  });
});
