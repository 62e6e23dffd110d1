import type { CompressionTypes as Compression, Message, TopicMessages } from 'kafkajs';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Topic } from '../../events/define-event.ts';
import { eventText } from '../../events/event-text.ts';
import { topicOf } from '../../events/parse-event.ts';
import type { ChainedRecord } from '../chain.ts';
import { partitionOf } from '../partition-of.ts';
import type { KafkaConnection } from './connection.ts';
import { CompressionTypes } from './kafkajs.ts';
import type { RawMessage } from './kafkajs-internals.ts';

/** A record on its way into one partition. `bytes`: about what it takes uncompressed. */
export type OutgoingRecord = { readonly topic: string; readonly message: Message; readonly bytes: number };

/** Key: subject. Header `type`: readers skip by it before they parse. Value: the event's JSON, as it is. */
export function recordOfEvent(
  connection: KafkaConnection,
  event: ClawLoopEvent,
  partitions: number,
): OutgoingRecord {
  return recordOfBody(connection, topicOf(event), event.subject, eventText(event), partitions, event.type);
}

export function recordOfBody(
  connection: KafkaConnection,
  topic: Topic,
  subject: string,
  body: string | Buffer,
  partitions: number,
  type: string,
): OutgoingRecord {
  const value = typeof body === 'string' ? Buffer.from(body) : body;
  return {
    topic: connection.topicName(topic),
    message: { key: subject, value, partition: partitionOf(subject, partitions), headers: { type } },
    bytes: value.length,
  };
}

/** A record as it was read, as its chain covers it. */
export const chainedRecord = ({
  offset,
  timestamp,
  key,
  value,
  headers,
}: RawMessage): ChainedRecord & { readonly body: string } => ({
  offset: Number(offset),
  time: Number(timestamp),
  type: headers?.type?.toString('utf8') ?? '',
  subject: key?.toString('utf8') ?? '',
  body: value?.toString('utf8') ?? '',
});

/** Uncompressed bytes of one send: a send is one batch per partition, and a batch has a limit. */
const sendBytes = 4 * 2 ** 20;

/** Cuts records, in order, into sends; a larger record goes alone. */
export function intoSends(records: readonly OutgoingRecord[]): readonly (readonly OutgoingRecord[])[] {
  const sends: OutgoingRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    if (bytes + record.bytes > sendBytes) {
      sends.push([]);
      bytes = 0;
    }
    sends.at(-1)!.push(record);
    bytes += record.bytes;
  }
  return sends;
}

/** Bytes of a request. What is shorter gains too little for the way to zlib's thread and back. */
const compressAbove = 4096;

/** One request, order kept within each partition. */
export function asBatch(records: readonly OutgoingRecord[]): {
  readonly acks: -1;
  readonly compression: Compression;
  readonly topicMessages: TopicMessages[];
} {
  const byTopic = new Map<string, Message[]>();
  let bytes = 0;
  for (const record of records) {
    const of = byTopic.get(record.topic) ?? [];
    of.push(record.message);
    byTopic.set(record.topic, of);
    bytes += record.bytes;
  }
  return {
    acks: -1,
    compression: bytes > compressAbove ? CompressionTypes.ZSTD : CompressionTypes.None,
    topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })),
  };
}
