import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { InteractionWithdrawn } from '../../../shared/events/interaction-withdrawn.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../../shared/events/session-started.ts';
import type { Audited, Folded } from './audited.ts';

type Withdrawal = ResponseDeleted | InteractionWithdrawn;
type BookedEvent = InteractionCompleted | Withdrawal | FeedbackGiven | SessionStarted | SessionEnded;

/** What the audit keeps of an event in `conversations`; no bodies. */
export type Entry = {
  readonly id: string;
  readonly at: Position;
  readonly time: string;
  readonly lane: string;
  readonly key: string;
  /** time of the latest event of its lane so far, ms since 1970 */
  readonly laneTime: number;
  /** The collector has read the event and did not ignore it as too late. */
  readonly counts: boolean;
} & (
  | ({ readonly kind: 'interaction.completed' } & Answer)
  | { readonly kind: Withdrawal['type']; readonly turnId: string }
  | { readonly kind: 'feedback.given'; readonly data: FeedbackGiven['data'] }
  | { readonly kind: 'session.started'; readonly session: string }
  | { readonly kind: 'session.ended'; readonly data: SessionEnded['data'] }
);

export type Answer = Pick<
  InteractionCompleted['data'],
  'live' | 'settle' | 'session' | 'adapter' | 'version' | 'finishReason' | 'disconnected' | 'turnType'
> & {
  readonly untrainable: string | undefined;
  readonly tooLarge: boolean;
  readonly engineFinishReason: string | undefined;
};

type Lane = {
  readonly entries: Entry[];
  latest: number;
  /** ms since 1970: append time of its latest event */
  appended: number;
  /** An event's time was ahead of the log's clock: the collector set its clock back and ignores more. */
  ahead: boolean;
  forgotten: boolean;
};

export type ConversationBook = ReturnType<typeof openConversationBook>;

const HOUR_MS = 3_600_000;
/** After a day the collector forgets unmatched interactions and ignores events that are that late. */
export const DAY_MS = 24 * 3_600_000;

/** The first copy of each event of `conversations`, by id and in the order of its lane. */
export function openConversationBook(folded: Folded) {
  const byId = new Map<string, Entry>();
  const lanes = new Map<string, Lane>();
  const laneOf = (name: string) => {
    const lane = lanes.get(name) ?? {
      entries: [],
      latest: Number.NEGATIVE_INFINITY,
      appended: 0,
      ahead: false,
      forgotten: false,
    };
    lanes.set(name, lane);
    return lane;
  };

  const write = (record: Audited): void => {
    const { event, at } = record;
    if (event.type === 'lane.forgotten') laneOf(event.data.lane).forgotten = true;
    if (!isBooked(event) || byId.has(event.id)) return;
    const lane = laneOf(event.subject);
    const time = Date.parse(event.time);
    lane.ahead ||= lane.latest > record.time + HOUR_MS;
    const horizon = lane.ahead ? record.time - HOUR_MS : lane.latest - DAY_MS;
    const inTime = !lane.forgotten && time >= Math.max(horizon, lane.latest - DAY_MS);
    const isWithdrawal = event.type === 'response.deleted' || event.type === 'interaction.withdrawn';
    const isTimer = event.type === 'session.ended' && event.data.reason === 'idle';
    if (!isTimer && event.type !== 'interaction.withdrawn') lane.latest = Math.max(lane.latest, time);
    const counts = folded('attribute', record) && (inTime || isTimer || isWithdrawal);
    const entry: Entry = {
      id: event.id,
      at,
      time: event.time,
      lane: event.subject,
      key: event.data.key,
      laneTime: lane.latest,
      counts,
      ...keptOf(event),
    };
    byId.set(event.id, entry);
    lane.entries.push(entry);
    lane.appended = Math.max(lane.appended, record.time);
  };

  return {
    write,
    get: (id: string): Entry | undefined => byId.get(id),
    all: (): Iterable<Entry> => byId.values(),
    /** the events of each lane, in order */
    lanes: function* (): Generator<readonly Entry[]> {
      for (const { entries } of lanes.values()) yield entries;
    },
    /** append time of the latest event of a lane, ms since 1970 */
    restsSince: (lane: string): number => lanes.get(lane)?.appended ?? Number.NEGATIVE_INFINITY,
  };
}

const bookedTypes: readonly string[] = [
  ...(['interaction.completed', 'feedback.given', 'response.deleted'] satisfies BookedEvent['type'][]),
  ...(['interaction.withdrawn', 'session.started', 'session.ended'] satisfies BookedEvent['type'][]),
];
const isBooked = (event: Audited['event']): event is BookedEvent => bookedTypes.includes(event.type);

function keptOf(event: BookedEvent) {
  switch (event.type) {
    case 'interaction.completed': {
      const { live, settle, session, adapter, version, finishReason, disconnected, turnType } = event.data;
      const { untrainable, tooLarge = false, engineFinishReason } = event.data;
      return {
        kind: event.type,
        live,
        settle,
        session,
        adapter,
        version,
        finishReason,
        disconnected,
        turnType,
        untrainable,
        tooLarge,
        engineFinishReason,
      } as const;
    }
    case 'response.deleted':
    case 'interaction.withdrawn':
      return { kind: event.type, turnId: event.data.interactionId } as const;
    case 'feedback.given':
    case 'session.ended':
      return { kind: event.type, data: event.data } as const as
        | { readonly kind: 'feedback.given'; readonly data: FeedbackGiven['data'] }
        | { readonly kind: 'session.ended'; readonly data: SessionEnded['data'] };
    case 'session.started':
      return { kind: event.type, session: event.data.session } as const;
  }
}
