import { eventLogContract } from './event-log.ts';
import { eventLogChaosContract, eventLogCrashContract } from './event-log-crashes.ts';
import { kafkaFaults } from './kafka-event-log-faults.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { describeWithKafka } from './kafka-node.ts';
import { kafkaSecurity } from './kafka-security.ts';

describeWithKafka('Kafka', (node) => {
  eventLogContract('Kafka log', () => kafkaHarness(node()));
  eventLogCrashContract('Kafka log', () => kafkaHarness(node()));
  for (const seed of [1, 2]) {
    eventLogChaosContract('Kafka log', () => kafkaHarness(node(), 1_000), {
      rounds: 20,
      events: 10_000,
      seed,
    });
  }
  kafkaFaults(node);
});

kafkaSecurity();
