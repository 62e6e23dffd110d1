import { emptyChain } from '../chain.ts';
import { logError } from '../errors.ts';
import { collectPlaces, type Retention } from '../retention.ts';
import { graceMs, monotonicMs } from './protocol.ts';
import type { Store } from './store.ts';

const PAGE = 2_000;

/** Removes the oldest records of the file in short transactions, between which others write. */
export function openRetention(store: Store, deliveryTimeoutMs: number): Retention {
  const deadline = () => monotonicMs() + deliveryTimeoutMs;
  const patience = deliveryTimeoutMs + graceMs;
  return {
    outline: async (topic, partition, until = Number.POSITIVE_INFINITY) => {
      const collected = collectPlaces();
      for (let from = 0; collected.time() <= until; ) {
        const page = await store.call('measure', { topic, partition, from, maxRecords: PAGE });
        for (const { isLinked, ...record } of page) collected.add({ ...record, mayEnd: isLinked });
        const last = page.at(-1);
        if (last === undefined) break;
        from = last.offset + 1;
      }
      return collected.outline();
    },
    readers: (topic) => store.call('readers', { topic }),
    chainAt: async (topic, { partition, offset }) => {
      const { from } = (await store.call('chains', { topic }))[partition]!;
      const head = { topic, partition, from, to: offset };
      if (offset <= from) return { ...head, head: emptyChain };
      const [last] = await store.call('fetchStored', {
        topic,
        partition,
        from: offset - 1,
        maxRecords: 1,
      });
      if (last?.offset !== offset - 1 || last.link === null)
        throw logError('LogMismatch', `${topic}/${partition} has no link before offset ${offset}`);
      return { ...head, head: last.link };
    },
    cut: async (topic, at) => {
      const { partition } = at;
      await store.call('cut', { topic, at, deadline: deadline() }, patience);
      while ((await store.call('remove', { topic, partition, deadline: deadline() }, patience)) > 0);
      while (await store.call('shrink', { deadline: deadline() }, patience));
    },
  };
}
