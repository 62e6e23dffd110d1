import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { whyNoKafka } from '../../infra/kafka/jars.ts';
import { type KafkaNode, startKafka } from '../../infra/kafka/start-kafka.ts';

/**
 * Tests with a real Kafka, one node for all tests in `tests`. If it cannot start, the suite is skipped and its name
 * gives the reason; with CLAWLOOP_REQUIRE_ALL=1 it fails.
 */
export function describeWithKafka(
  name: string,
  tests: (node: () => KafkaNode) => void,
  start: (folder: string) => Promise<KafkaNode> = (folder) => startKafka({ folder }),
): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoKafka();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    let node: KafkaNode;
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'clawloop-kafka-'));
      node = await start(folder);
    });
    afterAll(async () => {
      await node?.kill();
      await rm(folder, { recursive: true, force: true });
    });
    tests(() => node);
  });
}
