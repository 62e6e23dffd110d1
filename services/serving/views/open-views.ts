import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Snapshots } from '../../../shared/log/snapshots/snapshots.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { AnswerIds } from '../answer/answer-ids.ts';
import { type Conversations, openConversations } from '../api/responses/conversations.ts';
import { createLanePlaces, type LanePlaces } from '../api/responses/lane-places.ts';
import { followHead, type HeadView } from '../heads/head-view.ts';
import { createLeaseTable, type LeaseTable } from '../sessions/lease-table.ts';
import { followNamedSessions, type NamedSessions } from '../sessions/named-sessions.ts';
import { followSessions, type SessionView } from '../sessions/session-view.ts';
import { countWaitingSamples, type WaitingSamples, waitingTypes } from '../sessions/waiting-samples.ts';
import { keepViews, loadViews } from './stored-views.ts';

/** What serving knows of the log, in memory. */
export type Views = {
  readonly head: HeadView;
  /** by adapter */
  readonly samples: ReadonlyMap<string, WaitingSamples>;
  readonly sessions: SessionView;
  readonly leases: LeaseTable;
  readonly places: LanePlaces;
  readonly named: NamedSessions;
  readonly responses: Conversations;
};

type Options = {
  readonly log: EventLog;
  readonly snapshots: Snapshots;
  readonly adapters: readonly string[];
  /** folder of an adapter's checkpoints */
  readonly checkpointsOf: (adapter: string) => string;
  /** whether a checkpoint still exists; default: its folder does */
  readonly isKept?: ((adapter: string, checkpoint: string) => boolean) | undefined;
  readonly ids: AnswerIds;
  /** Number of recorded events that are not in the log yet. */
  readonly outboxDepth: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
};

/** Opens the views from their stored states, and follows the log from there. `close` stores the states again. */
export async function openViews(options: Options): Promise<Views & { readonly close: () => Promise<void> }> {
  const { log, snapshots, adapters, checkpointsOf, ids, outboxDepth, logger, signal } = options;
  const stored = await loadViews(snapshots, adapters);
  const { training, conversations, turns } = stored;
  const samples = new Map(
    adapters.map((name) => [name, countWaitingSamples(name, training?.state[name])] as const),
  );
  const head = followHead({
    log,
    adapters,
    checkpointsOf,
    isKept: options.isKept,
    signal,
    onEvent: (event) => samples.get(event.subject)?.on(event),
    types: waitingTypes,
    from: training && { offsets: { ...training.upTo.training }, heads: training.heads },
  });
  const places = createLanePlaces({ from: conversations?.state.places });
  const responses = openConversations({
    log,
    ids,
    places,
    reachEnd: () => sessions.reachEnd(),
    isCaughtUp: () => sessions.isCaughtUp(),
    deletions: conversations?.state.deletions,
  });
  const leases = createLeaseTable({ from: conversations?.state.leases });
  const sessions = followSessions({
    log,
    signal,
    onDeleted: responses.forget,
    onLease: leases.apply,
    onHeading: (heading) => {
      places.note(heading);
      named.note(heading);
    },
    from: conversations && {
      offsets: { ...conversations.upTo.conversations },
      sessions: conversations.state.sessions,
    },
  });
  const named = followNamedSessions({
    log,
    signal,
    ids,
    reachEnd: sessions.reachEnd,
    outboxDepth,
    from: {
      offsets: { ...turns?.upTo.turns },
      opened: turns?.state.opened,
      answered: conversations?.state.answered,
    },
  });
  const views = { head, samples, sessions, leases, places, named, responses };
  const { close } = keepViews(snapshots, views, { stored, outboxDepth, logger });
  return { ...views, close };
}
