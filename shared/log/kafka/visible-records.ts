import type { AbortedTransaction, RawMessage } from './kafkajs-internals.ts';

/** version 0 (2 bytes), type 0 (2 bytes): the marker that ends an aborted transaction. */
const abortMarker = Buffer.from([0, 0, 0, 0]);

/**
 * What a reader of committed records may see of a fetch: no markers, and nothing of a transaction that was
 * aborted. The broker names those that reach into the fetched range; each is over at its producer's abort
 * marker. (kafkajs' own filter takes up at most one aborted transaction per record and shows records of the
 * next.)
 */
export function visibleRecords(
  messages: readonly RawMessage[],
  abortedTransactions: readonly AbortedTransaction[] | null,
): readonly RawMessage[] {
  const waiting = (abortedTransactions ?? [])
    .map(({ producerId, firstOffset }) => ({ producerId, from: Number(firstOffset) }))
    .sort((a, b) => a.from - b.from);
  const aborted = new Set<string>();
  let next = 0;
  return messages.filter(({ offset, key, isControlRecord, batchContext }) => {
    const { producerId, inTransaction } = batchContext;
    while (next < waiting.length && waiting[next]!.from <= Number(offset)) {
      aborted.add(waiting[next]!.producerId);
      next += 1;
    }
    if (isControlRecord) {
      if (key?.subarray(0, 4).equals(abortMarker)) aborted.delete(producerId);
      return false;
    }
    return !(inTransaction && aborted.has(producerId));
  });
}
