import { hash } from 'node:crypto';
import type { Topic } from '../events/define-event.ts';

/** All that a chain covers of a record. `body`: as the log stores it. */
export type ChainedRecord = {
  readonly offset: number;
  /** ms since 1970, when it was appended */
  readonly time: number;
  readonly type: string;
  readonly subject: string;
  readonly body: string | Uint8Array;
};

/** Before the first record of a chain. */
export const emptyChain = '';

/**
 * The link after some records that follow the link `before`, hex. Each link covers all records before it: none
 * of them can be changed, left out, added or moved without changing every later link.
 */
export function linkAfter(before: string, records: readonly ChainedRecord[]): string {
  if (records.every(({ body }) => typeof body === 'string')) {
    return hash(
      'sha256',
      records.reduce((text, record) => `${text}${head(record)}${record.body}`, before),
    );
  }
  const parts = records.flatMap((record) => [head(record), record.body]);
  return hash('sha256', Buffer.concat([before, ...parts].map((part) => Buffer.from(part as string))));
}

/** Every length is said before what it measures, so no two lists of records give the same text. */
function head({ offset, time, type, subject, body }: ChainedRecord): string {
  const [typeBytes, subjectBytes] = [Buffer.byteLength(type), Buffer.byteLength(subject)];
  const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  return `\n${offset} ${time} ${typeBytes} ${subjectBytes} ${bodyBytes} ${type} ${subject} `;
}

/** The head of a chain, to be noted in a safe place: whoever rewrites the log cannot rewrite that too. */
export type ChainHead = {
  readonly topic: Topic;
  readonly partition: number;
  /** the first offset that the chain covers */
  readonly from: number;
  /** the offset behind the last record that it covers */
  readonly to: number;
  readonly head: string;
};

/** What recomputing a partition's chain came to. */
export type VerifiedChain = ChainHead & {
  /** records that the chain covers */
  readonly records: number;
  /** The first place where the records are not those that were appended; absent: there is none. */
  readonly broken?: ChainBreak;
};

/** Somewhere from `from` on, before `to`. */
export type ChainBreak = { readonly from: number; readonly to: number; readonly why: string };
