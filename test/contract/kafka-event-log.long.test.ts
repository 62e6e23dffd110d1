import { eventLogContract } from './event-log.ts';
import { eventLogChaosContract, eventLogCrashContract } from './event-log-crashes.ts';
import { kafkaFaults } from './kafka-event-log-faults.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { describeWithKafka } from './kafka-node.ts';

describeWithKafka('Kafka', (node) => {
  eventLogContract('Kafka log', () => kafkaHarness(node()));
  eventLogCrashContract('Kafka log', () => kafkaHarness(node()));
  eventLogChaosContract('Kafka log', () => kafkaHarness(node()), { rounds: 6, events: 3_000, seed: 1 });
  kafkaFaults(node);
});
