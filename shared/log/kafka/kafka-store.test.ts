import { expect, test } from 'vitest';
import { connectTo } from './connection.ts';
import { readBody } from './kafka-store.ts';
import { openRecordCache } from './record-cache.ts';

test('an answer without the requested partition does not mean that the record is gone', async () => {
  const store = {
    partitions: 1,
    recent: openRecordCache(1_000),
    connection: connectTo({ brokers: ['127.0.0.1:1'] }),
    // as a broker answers that throttles its clients
    query: { fetch: async () => [], offsets: async () => [], close: async () => {} },
  };
  await expect(readBody(store, 'turns', { partition: 0, offset: 3 })).rejects.toMatchObject({
    name: 'LogUnavailable',
  });
});
