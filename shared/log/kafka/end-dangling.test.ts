import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Producer } from 'kafkajs';
import { expect, test } from 'vitest';
import { topics } from '../../events/define-event.ts';
import { endDangling } from './end-dangling.ts';
import type { KafkaStore } from './kafka-store.ts';

/** An unhandled rejection ends the process, and fails the test run. */
test('a broker that disappears is one failure, whichever topic reports it first', async () => {
  const gone = async (topic: string): Promise<never> => {
    if (topic !== 'rows') await nextTurn();
    throw new Error(`${topic}: the connection broke`);
  };
  const store = {
    connection: { topicName: (topic: string) => topic },
    query: { offsets: gone },
  } as unknown as KafkaStore;
  const producer = {} as Producer;
  const ending = endDangling(store, producer, { topic: 'rows', partition: 0 });
  await expect(ending).rejects.toThrow('rows: the connection broke');
  for (const _ of topics) await nextTurn();
});
