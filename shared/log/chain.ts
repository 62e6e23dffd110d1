import { hash } from 'node:crypto';
import type { Topic } from '../events/define-event.ts';

/** The parts of a record that its chain covers. `body`: as the log stores it. */
export type ChainedRecord = {
  readonly offset: number;
  /** time of the append, ms since 1970 */
  readonly time: number;
  readonly type: string;
  readonly subject: string;
  readonly body: string | Uint8Array;
};

/** The link before the first record of a chain. */
export const emptyChain = '';

/**
 * The link after `records`, which follow the link `before`; hex. Each link covers all earlier records: changing,
 * removing, adding or moving a record changes every later link.
 */
export function linkAfter(before: string, records: readonly ChainedRecord[]): string {
  const link = openLink(before);
  for (const record of records) link.add(record.offset, record.time, record);
  return link.end();
}

/** Like `linkAfter`, record by record. */
export function openLink(before: string) {
  let text = before;
  /** if there are binary bodies: everything up to the last of them */
  let parts: readonly Uint8Array[] = [];
  return {
    add: (offset: number, time: number, { type, subject, body }: Content): void => {
      // Lengths come before the fields, so two different lists of records never give the same text.
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

/** The head of a chain. Store it outside the log, where an attacker who rewrites the log cannot change it. */
export type ChainHead = {
  readonly topic: Topic;
  readonly partition: number;
  /** the first offset that the chain covers */
  readonly from: number;
  /** the offset after the last record that the chain covers */
  readonly to: number;
  readonly head: string;
};

/** The result of recomputing a partition's chain. */
export type VerifiedChain = ChainHead & {
  /** records that the chain covers */
  readonly records: number;
  /** The first place where the records differ from what was appended; absent: the chain is intact. */
  readonly broken?: ChainBreak;
};

/** The break is at or after `from` and before `to`. */
export type ChainBreak = { readonly from: number; readonly to: number; readonly why: string };
