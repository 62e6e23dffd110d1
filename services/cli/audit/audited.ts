import { hash, randomBytes, randomInt } from 'node:crypto';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { TokenRecord } from '../../../shared/events/token-record.ts';
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

/** Offsets of a partition are below this. */
const OFFSETS = 2 ** 40;
/** A place as one number, above 0. */
export const placeNumber = ({ partition, offset }: Position): number => partition * OFFSETS + offset + 1;
export const placeOf = (number: number): Position => ({
  partition: Math.floor((number - 1) / OFFSETS),
  offset: (number - 1) % OFFSETS,
});

/** Digests are compared within one audit only. With its own key, nobody can prepare bodies of equal digests. */
const key = randomBytes(16).toString('hex');
const seed = randomInt(2 ** 32);

const numberOf = (hex: string): number => Number.parseInt(hex.slice(0, 13), 16);

/** Digests of short bodies: many are equal. */
const known = new Map<string, number>();
const MOST_KNOWN = 1_000;
/** characters */
const SHORT = 200;

/** 52-bit digest of a body. Bodies are parsed, so equal bodies have equal JSON. */
export function digestOf(body: unknown): number {
  if (body === undefined) return 0;
  const json = JSON.stringify(body);
  if (json.length > SHORT) return numberOf(hash('sha256', key + json));
  const before = known.get(json);
  if (before !== undefined) return before;
  const digest = numberOf(hash('sha256', key + json));
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(json, digest);
  return digest;
}

/** Numbers to be digested. */
let room = new Float64Array(4_096);

/** 52-bit digest of tokens. Numbers are faster to digest than their text. */
export function tokensDigestOf(tokens: TokenRecord | null): number {
  if (tokens === null) return digestOf(null);
  const { promptIds, responseIds, logProbs, ...others } = tokens;
  const lists = [promptIds, responseIds, logProbs];
  const numbers = [digestOf(others), promptIds.length, responseIds.length, logProbs.length];
  const length = numbers.length + promptIds.length + responseIds.length + logProbs.length;
  if (length > room.length) room = new Float64Array(2 * length);
  let at = 0;
  for (const list of [numbers, ...lists]) for (let i = 0; i < list.length; i++) room[at++] = list[i]! + 0; // -0 becomes 0
  return numberOf(hash('sha256', new Uint8Array(room.buffer, 0, length * room.BYTES_PER_ELEMENT)));
}

/** 32-bit digest of a message, to tell it from the others of its request. */
export function shortDigestOf(body: unknown): number {
  const json = JSON.stringify(body) ?? 'absent';
  let digest = seed;
  for (let at = 0; at < json.length; at++) {
    digest = Math.imul(digest ^ json.charCodeAt(at), 0x9e3779b1);
    digest = (digest << 13) | (digest >>> 19);
  }
  return (digest ^ (digest >>> 15)) >>> 0;
}
