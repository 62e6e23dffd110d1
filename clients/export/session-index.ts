import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Position } from '../../shared/events/position.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';

/** An interaction with its outcome. */
export type IndexedTurn = {
  readonly id: string;
  /** of its `interaction.completed` */
  readonly at: Position;
  /** reason of `turn.skipped` or `turn.withdrawn`; null: it was completed */
  readonly reason: string | null;
  /** undefined: its session has no reward, or it is not in the conversation tree */
  readonly earned: TurnFeedback['data'] | undefined;
};

/** A rewarded session, up to one of its ends. */
export type EndedSession = {
  readonly session: string;
  readonly task: string | null;
  /** its client discarded it */
  readonly discarded: boolean;
  /** in order of arrival */
  readonly turns: readonly IndexedTurn[];
};

type TurnState = { reason: string | null; earned: TurnFeedback['data'] | undefined };
type Closed = Readonly<{ session: string; by: string; discarded: boolean; time: string }>;

/** Event types that the index reads. */
export const indexedTypes: ReadonlySet<ClawLoopEvent['type']> = new Set<ClawLoopEvent['type']>([
  ...(['interaction.completed', 'session.started', 'session.ended'] as const),
  ...(['turn.completed', 'turn.skipped', 'turn.feedback', 'turn.withdrawn', 'session.closed'] as const),
]);

/**
 * An index of rewarded sessions: ids and positions, no bodies. Each topic must be fed in order, but the topics
 * may run ahead of each other: a session has ended once both its close and the end that caused it are read.
 *
 * @param maxEnded ended sessions to remember, so that the task is known if one continues
 */
export class SessionIndex {
  readonly #maxEnded: number;
  readonly #tasks = new Map<string, string | null>();
  readonly #places = new Map<string, Position>();
  /** unmatched ends; each closes at most one session */
  readonly #ends = new Set<string>();
  /** by session and epoch, then by turn */
  readonly #turnsByEpoch = new Map<string, Map<string, TurnState>>();
  readonly #epochOf = new Map<string, string>();
  readonly #waiting = new Map<string, Closed>();
  /** in order of their end */
  readonly #wasEnded = new Set<string>();

  constructor({ maxEnded = 10_000 } = {}) {
    this.#maxEnded = maxEnded;
  }

  #addTurn(session: string, epoch: string, turnId: string, reason: string | null): void {
    const name = `${session}@${epoch}`;
    const turns = this.#turnsByEpoch.get(name) ?? new Map<string, TurnState>();
    this.#turnsByEpoch.set(name, turns);
    this.#epochOf.set(turnId, name);
    turns.set(turnId, { reason, earned: undefined });
  }

  #turnOf(turnId: string): TurnState | undefined {
    return this.#turnsByEpoch.get(this.#epochOf.get(turnId) ?? '')?.get(turnId);
  }

  on(event: ClawLoopEvent, at: Position): void {
    switch (event.type) {
      case 'session.started':
        if (event.data.settle === 'reward') this.#tasks.set(event.data.session, event.data.task ?? null);
        break;
      case 'session.ended':
        this.#ends.add(event.id);
        break;
      case 'interaction.completed': {
        const { settle, session } = event.data;
        if (settle !== 'reward' || this.#places.has(event.id)) break;
        this.#places.set(event.id, at);
        if (session !== undefined && !this.#tasks.has(session)) this.#tasks.set(session, null);
        break;
      }
      case 'turn.completed':
        // a session that is settled by votes is not exported
        if (event.data.settle === 'votes') break;
        this.#addTurn(event.data.session, event.data.epoch, event.data.turnId, null);
        break;
      case 'turn.skipped': {
        const { session, epoch, turnId, reason } = event.data;
        if (session !== undefined && epoch !== undefined) this.#addTurn(session, epoch, turnId, reason);
        break;
      }
      case 'turn.feedback': {
        const turn = this.#turnOf(event.data.turnId);
        if (event.data.return !== undefined && turn !== undefined) turn.earned = event.data;
        break;
      }
      case 'turn.withdrawn': {
        const turn = this.#turnOf(event.data.turnId);
        if (turn !== undefined) turn.reason = event.data.reason;
        break;
      }
      case 'session.closed': {
        const { session, epoch, by, discard = false } = event.data;
        this.#waiting.set(`${session}@${epoch}`, { session, by, discarded: discard, time: event.time });
      }
    }
  }

  #forgetOldest(): void {
    for (const session of this.#wasEnded) {
      if (this.#wasEnded.size <= this.#maxEnded) return;
      this.#wasEnded.delete(session);
      this.#tasks.delete(session);
    }
  }

  #take(): readonly EndedSession[] {
    // two partitions arrive in any order
    const byTime = [...this.#waiting].sort(([, a], [, b]) =>
      a.time < b.time ? -1 : a.time > b.time ? 1 : 0,
    );
    return byTime.flatMap(([name, { session, by, discarded }]) => {
      if (!this.#ends.delete(by)) return [];
      this.#waiting.delete(name);
      const turns = this.#takeTurns(name);
      if (!this.#tasks.has(session)) return []; // settled by votes
      this.#wasEnded.delete(session);
      this.#wasEnded.add(session);
      const inOrder = turns.toSorted((a, b) => a.at.offset - b.at.offset);
      return [{ session, task: this.#tasks.get(session)!, discarded, turns: inOrder }];
    });
  }

  #takeTurns(name: string): readonly IndexedTurn[] {
    const turns = this.#turnsByEpoch.get(name) ?? new Map<string, TurnState>();
    this.#turnsByEpoch.delete(name);
    return [...turns].flatMap(([id, state]) => {
      const at = this.#places.get(id);
      this.#places.delete(id);
      this.#epochOf.delete(id);
      return at === undefined ? [] : [{ id, at, ...state }];
    });
  }

  /** Sessions that ended since the last call, in order of their end. Their turns are then forgotten. */
  takeEnded(): readonly EndedSession[] {
    const ended = this.#take();
    this.#forgetOldest();
    return ended;
  }

  /** Number of known sessions, ends and turns. */
  size(): number {
    return this.#tasks.size + this.#ends.size + this.#epochOf.size;
  }

  /** Sessions that have never ended. */
  open(): readonly string[] {
    return [...this.#tasks.keys()].filter((session) => !this.#wasEnded.has(session));
  }
}
