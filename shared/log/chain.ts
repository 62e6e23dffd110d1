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
  const link = openLink(before);
  for (const record of records) link.add(record.offset, record.time, record);
  return link.end();
}

/** The same, record by record. */
export function openLink(before: string) {
  let text = before;
  /** of those with bytes among them, all up to the last bytes */
  let parts: readonly Uint8Array[] = [];
  return {
    add: (offset: number, time: number, { type, subject, body }: Content): void => {
      // every length is said before what it measures, so no two lists of records give the same text
      const lengths = `${type.length} ${subject.length} ${typeof body} ${body.length}`;
      text += `\n${offset} ${time} ${lengths} ${type} ${subject} `;
      if (typeof body === 'string') text += body;
      else {
        parts = [...parts, Buffer.from(text), body];
        text = '';
      }
    },
    end: (): string =>
      hash('sha256', parts.length === 0 ? text : Buffer.concat([...parts, Buffer.from(text)])),
  };
}

type Content = Pick<ChainedRecord, 'type' | 'subject' | 'body'>;

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
