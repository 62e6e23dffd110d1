import { hash } from 'node:crypto';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';

/** One record of a log, as the audit reads it. */
export type Audited = Recorded & { readonly topic: Topic };

/**
 * States a violation. `missingFrom`: the topic that lacks a record. Where its first records were trimmed, the
 * record may have been among them, and the audit cannot tell.
 */
export type Tell = (sentence: string, missingFrom?: Topic) => void;

/** The groups that fold a topic, by what they do. */
export type GroupName = 'attribute' | 'judge' | 'assemble' | 'submit';

/** Whether a group has folded the record at a place. A group may set a record aside that it cannot read. */
export type Folded = (group: GroupName, record: Audited) => boolean;

/**
 * Whether a group folds the record at a place once it comes to it. The audit notes how far the groups are before
 * it reads: while services run, facts follow from records that lie beyond.
 */
export type Folds = (group: GroupName, record: Audited) => boolean;

export const placeName = ({ topic, at }: Pick<Audited, 'topic' | 'at'>): string =>
  `${topic}/${at.partition}@${at.offset}`;

/** 128 bits that stand for a body. Bodies are parsed, so equal bodies have equal JSON. */
export const digestOf = (body: unknown): string =>
  hash('sha256', JSON.stringify(body) ?? 'absent', 'base64url').slice(0, 22);

/** 32 bits that stand for a message among those of one request. */
export const shortDigestOf = (body: unknown): number =>
  Number.parseInt(hash('sha256', JSON.stringify(body) ?? 'absent', 'hex').slice(0, 8), 16);
