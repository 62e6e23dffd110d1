import type { AbortedTransaction, RawMessage } from './kafkajs-internals.ts';

/** version 0 (2 bytes), type 0 (2 bytes): the marker that ends an aborted transaction. */
const abortMarker = Buffer.from([0, 0, 0, 0]);

/**
 * The header of a filler. A restore writes fillers where the log that was backed up had markers and aborted records, so
 * that every record has its offset again.
 */
export const fillerHeader = 'clawloop-filler';

/**
 * The committed records of a fetch, without markers, fillers and records of aborted transactions. The broker lists the aborted
 * transactions in the fetched range; each ends at its producer's abort marker. (The filter of kafkajs starts at most
 * one aborted transaction per record, and so passes records of the next transaction.)
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
  return messages.filter(({ offset, key, headers, isControlRecord, batchContext }) => {
    const { producerId, inTransaction } = batchContext;
    while (next < waiting.length && waiting[next]!.from <= Number(offset)) {
      aborted.add(waiting[next]!.producerId);
      next += 1;
    }
    if (isControlRecord) {
      if (key?.subarray(0, 4).equals(abortMarker)) aborted.delete(producerId);
      return false;
    }
    return !(inTransaction && aborted.has(producerId)) && headers?.[fillerHeader] === undefined;
  });
}
