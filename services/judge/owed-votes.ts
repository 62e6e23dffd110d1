import type { Position } from '../../shared/events/position.ts';
import type { Rows } from '../../shared/log/rows.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { type OpenTurn, TURNS, takesVotes } from './judge-rows.ts';

/** The job of casting one vote. Contains no message texts. */
export type VoteJob = {
  readonly turnId: string;
  readonly lane: string;
  readonly index: number;
  readonly at: Position;
  /** absent: a verdict is asked for */
  readonly asks?: 'hint';
};

/** prefix of the keys of all turn rows */
const TURN_ROW = `${TURNS}/`;

/** The open turns of one lane. */
export function* openTurns(rows: Rows): Generator<readonly [turnId: string, turn: OpenTurn]> {
  for (const [key, row] of rows.entries(TURN_ROW)) yield [key.slice(TURN_ROW.length), row as OpenTurn];
}

/** The turns among the rows with these keys; undefined for a settled turn. */
export function* turnsOf(
  rows: Rows,
  keys: readonly string[],
): Generator<readonly [turnId: string, turn: OpenTurn | undefined]> {
  for (const key of keys)
    if (key.startsWith(TURN_ROW)) yield [key.slice(TURN_ROW.length), rows.get(key) as OpenTurn | undefined];
}

/** The votes that one turn is owed. The id of a job is the id of the event that fulfils it. */
export function votesOwedTo(lane: string, turnId: string, turn: OpenTurn): readonly Job<VoteJob>[] {
  const { needs, votes, needsHints = 0, hints = {}, at } = turn;
  if (!takesVotes(turn) || turn.silent) return [];
  return [
    ...missing(needs, votes).map((index) => ({
      id: `${turnId}/vote/${index}`,
      data: { turnId, lane, index, at },
    })),
    ...missing(needsHints, hints).map((index) => ({
      id: `${turnId}/hint/${index}`,
      data: { turnId, lane, index, at, asks: 'hint' as const },
    })),
  ];
}

const missing = (needs: number, cast: object): readonly number[] =>
  Array.from({ length: needs }, (_, index) => index).filter((index) => !(index in cast));
