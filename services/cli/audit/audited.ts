import { hash } from 'node:crypto';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';

/** A log record as the audit reads it. */
export type Audited = Recorded & { readonly topic: Topic };

/**
 * Reports a violation as a sentence. `missingFrom`: the topic that lacks a record. If that topic was trimmed,
 * the record may have been trimmed too, so the audit only counts the reference.
 */
export type ReportViolation = (sentence: string, missingFrom?: Topic) => void;

/** Consumer groups. */
export type GroupName = 'attribute' | 'judge' | 'assemble' | 'submit';

/** Whether a group has folded a record. A group rejects records that it cannot read. */
export type Folded = (group: GroupName, record: Audited) => boolean;

/**
 * Whether a group folds a record, now or later. The audit notes the positions of the groups before it reads;
 * while services run, events may derive from records past those positions.
 */
export type Folds = (group: GroupName, record: Audited) => boolean;

export const placeName = ({ topic, at }: Pick<Audited, 'topic' | 'at'>): string =>
  `${topic}/${at.partition}@${at.offset}`;

/** 128-bit digest of a body. Bodies are parsed, so equal bodies have equal JSON. */
export const digestOf = (body: unknown): string =>
  hash('sha256', JSON.stringify(body) ?? 'absent', 'base64url').slice(0, 22);

/** 32-bit digest of a message, to tell it from the others of its request. */
export const shortDigestOf = (body: unknown): number =>
  Number.parseInt(hash('sha256', JSON.stringify(body) ?? 'absent', 'hex').slice(0, 8), 16);
