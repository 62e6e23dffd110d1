import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { tellsItsFigures } from './tells-its-figures.ts';

describeWithKafka('on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    tellsItsFigures((name) => [
      '--log',
      'kafka',
      '--kafka-brokers',
      kafka().brokers.join(','),
      ...(name === 'judge' || name === 'trainer' ? ['--queue', 'redis', '--redis-url', redis().url] : []),
    ]);
  });
});
