import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';

/** What the collector made of one interaction. */
export type IndexedTurn = {
  readonly id: string;
  /** of its `interaction.completed` */
  readonly at: Position;
  /** why it does not train, as `turn.skipped` or `turn.withdrawn` has it; null: it was complete */
  readonly reason: string | null;
  /** absent: its session has no reward, or it is no node of its tree */
  readonly earned: TurnFeedback['data'] | undefined;
};

/** A session that is settled by reward, between two ends. */
export type EndedSession = {
  readonly session: string;
  readonly task: string | null;
  /** its client took it back */
  readonly discarded: boolean;
  /** in order of arrival */
  readonly turns: readonly IndexedTurn[];
};

type Told = { reason: string | null; earned: TurnFeedback['data'] | undefined };
type Closed = { readonly session: string; readonly by: string; readonly discarded: boolean };

/** Which facts the index reads. */
export const indexedTypes: ReadonlySet<ClawLoopEvent['type']> = new Set<ClawLoopEvent['type']>([
  ...(['interaction.completed', 'session.started', 'session.ended'] as const),
  ...(['turn.completed', 'turn.skipped', 'turn.feedback', 'turn.withdrawn', 'session.closed'] as const),
]);

/**
 * Sessions that are settled by reward, by what the log says of them: ids and positions, no bodies. Each topic
 * in its own order, one as far as the other or not: a session counts as ended when the end that closed it was
 * read too.
 *
 * @param most sessions that ended and are still known, should one of them go on: then its task is known
 */
export function createSessionIndex({ most = 10_000 } = {}) {
  const tasks = new Map<string, string | null>();
  const places = new Map<string, Position>();
  /** Each closes one session at most. */
  const ends = new Set<string>();
  /** by session and epoch, and where each turn stands */
  const told = new Map<string, Map<string, Told>>();
  const epochOf = new Map<string, string>();
  const waiting = new Map<string, Closed>();
  /** the latest stand last */
  const wasEnded = new Set<string>();

  const tell = (session: string, epoch: string, turnId: string, reason: string | null): void => {
    const name = `${session}@${epoch}`;
    const turns = told.get(name) ?? new Map<string, Told>();
    told.set(name, turns);
    epochOf.set(turnId, name);
    turns.set(turnId, { reason, earned: undefined });
  };

  const on = (event: ClawLoopEvent, at: Position): void => {
    switch (event.type) {
      case 'session.started':
        if (event.data.settle === 'reward') tasks.set(event.data.session, event.data.task ?? null);
        break;
      case 'session.ended':
        ends.add(event.id);
        break;
      case 'interaction.completed': {
        const { settle, session } = event.data;
        if (settle !== 'reward' || places.has(event.id)) break;
        places.set(event.id, at);
        if (session !== undefined && !tasks.has(session)) tasks.set(session, null);
        break;
      }
      case 'turn.completed':
        tell(event.data.session, event.data.epoch, event.data.turnId, null);
        break;
      case 'turn.skipped': {
        const { session, epoch, turnId, reason } = event.data;
        if (session !== undefined && epoch !== undefined) tell(session, epoch, turnId, reason);
        break;
      }
      case 'turn.feedback': {
        const turn = told.get(epochOf.get(event.data.turnId) ?? '')?.get(event.data.turnId);
        if (event.data.return !== undefined && turn !== undefined) turn.earned = event.data;
        break;
      }
      case 'turn.withdrawn': {
        const turn = told.get(epochOf.get(event.data.turnId) ?? '')?.get(event.data.turnId);
        if (turn !== undefined) turn.reason = event.data.reason;
        break;
      }
      case 'session.closed': {
        const { session, epoch, by, discard = false } = event.data;
        waiting.set(`${session}@${epoch}`, { session, by, discarded: discard });
      }
    }
  };

  const forgetOldest = (): void => {
    for (const session of wasEnded) {
      if (wasEnded.size <= most) return;
      wasEnded.delete(session);
      tasks.delete(session);
    }
  };

  const take = (): readonly EndedSession[] =>
    [...waiting].flatMap(([name, { session, by, discarded }]) => {
      if (!ends.delete(by)) return [];
      waiting.delete(name);
      const turns = [...(told.get(name) ?? [])].flatMap(([id, one]): readonly IndexedTurn[] => {
        const at = places.get(id);
        places.delete(id);
        epochOf.delete(id);
        return at === undefined ? [] : [{ id, at, ...one }];
      });
      told.delete(name);
      if (!tasks.has(session)) return []; // settled by votes
      wasEnded.delete(session);
      wasEnded.add(session);
      const inOrder = turns.toSorted((a, b) => a.at.offset - b.at.offset);
      return [{ session, task: tasks.get(session)!, discarded, turns: inOrder }];
    });

  /** Those that ended since this was asked last; what was told of them is forgotten. */
  const takeEnded = (): readonly EndedSession[] => {
    const ended = take();
    forgetOldest();
    return ended;
  };

  return {
    on,
    takeEnded,
    /** How many sessions and ends are known. */
    size: (): number => tasks.size + ends.size,
    /** That were never ended. */
    open: (): readonly string[] => [...tasks.keys()].filter((session) => !wasEnded.has(session)),
  };
}
export type SessionIndex = ReturnType<typeof createSessionIndex>;
