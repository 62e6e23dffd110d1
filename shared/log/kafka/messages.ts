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

/** A record to append to a partition. `bytes`: approximate uncompressed size. */
export type OutgoingRecord = { readonly topic: string; readonly message: Message; readonly bytes: number };

type RecordBody = {
  readonly topic: Topic;
  readonly subject: string;
  readonly type: string;
  readonly body: string | Buffer;
};

/** Key: subject. Header `type`: lets readers skip a record unparsed. Value: the event's JSON, unchanged. */
export function recordOfEvent(
  connection: KafkaConnection,
  event: ClawLoopEvent,
  partitions: number,
): OutgoingRecord {
  const { subject, type } = event;
  return recordOfBody(connection, partitions, {
    topic: topicOf(event),
    subject,
    type,
    body: eventText(event),
  });
}

export function recordOfBody(
  connection: KafkaConnection,
  partitions: number,
  { topic, subject, type, body }: RecordBody,
): OutgoingRecord {
  const value = typeof body === 'string' ? Buffer.from(body) : body;
  return {
    topic: connection.topicName(topic),
    message: { key: subject, value, partition: partitionOf(subject, partitions), headers: { type } },
    bytes: value.length,
  };
}

/** The part of a fetched record that its hash chain covers. */
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

/** Uncompressed bytes per send: a send is one batch per partition, and batches have a size limit. */
const sendBytes = 4 * 2 ** 20;

/** Splits records into sends, in order; a larger record is sent alone. */
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

/** Bytes of a request. Compressing less is not worth the round trip to zlib's thread. */
const compressAbove = 4096;

/** Builds one request; the order within each partition is kept. */
export function asBatch(records: readonly OutgoingRecord[]): {
  readonly acks: -1;
  readonly compression: Compression;
  readonly topicMessages: TopicMessages[];
} {
  const byTopic = new Map<string, Message[]>();
  let bytes = 0;
  for (const record of records) {
    const messages = byTopic.get(record.topic) ?? [];
    messages.push(record.message);
    byTopic.set(record.topic, messages);
    bytes += record.bytes;
  }
  return {
    acks: -1,
    compression: bytes > compressAbove ? CompressionTypes.ZSTD : CompressionTypes.None,
    topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })),
  };
}
