import type { WishKind } from '../wishes/wishes.ts';

/** A turn and the places of its records. What was said stays in the log. */
export type TurnRow = {
  readonly id: string;
  /** ms since 1970 of its answer */
  readonly ms: number;
  /** packed place of its answer */
  readonly at: number;
  /** id of the access key */
  readonly key: string;
  /** the client's name for the person */
  readonly user: string | undefined;
  readonly isSettledByReward: boolean;
  /** packed places of its records, in the order of reading */
  readonly places: number[];
  /** its batches; several after a correction */
  readonly batches: string[];
  /** the interaction that showed its next state */
  next: string | undefined;
  /** packed place of the record with the person's reaction; undefined: the person said nothing */
  reactionAt: number | undefined;
  /** packed place of the latest judgment with hints */
  hintsAt: number | undefined;
  /** packed place of the judgment whose hint was inferred */
  inferredAt: number | undefined;
  /** known kinds of wishes in these hints */
  wishes: readonly WishKind[];
  /** by an operator or a client; the log keeps the record */
  isDeleted: boolean;
};

export type BatchRow = {
  readonly id: string;
  readonly adapter: string;
  readonly n: number;
  readonly parent: number;
  readonly turns: readonly string[];
  readonly places: number[];
};

/** By time; equal times by id, so that a cursor is exact. */
export const inOrder = (a: Pick<TurnRow, 'ms' | 'id'>, b: Pick<TurnRow, 'ms' | 'id'>): number =>
  a.ms - b.ms || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** The place in this order that a cursor `<ms>.<id>` names. */
export function placeOfCursor(cursor: string): Pick<TurnRow, 'ms' | 'id'> {
  const [ms = '', ...id] = cursor.split('.');
  return { ms: Math.trunc(Number(ms)) || 0, id: id.join('.') };
}

export const cursorOf = ({ ms, id }: Pick<TurnRow, 'ms' | 'id'>): string => `${ms}.${id}`;
