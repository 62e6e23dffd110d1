import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { InteractionWithdrawn } from '../../../shared/events/interaction-withdrawn.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../../shared/events/session-started.ts';
import type { Audited, Folded } from './audited.ts';

type TakenBack = ResponseDeleted | InteractionWithdrawn;
type Told = InteractionCompleted | TakenBack | FeedbackGiven | SessionStarted | SessionEnded;

/** What the audit keeps of an event of `conversations`: no bodies. */
export type Said = {
  readonly id: string;
  readonly at: Position;
  readonly time: string;
  readonly lane: string;
  readonly key: string;
  /** ms since 1970: the latest event of its lane so far */
  readonly laneTime: number;
  /** The collector has read it, and it was not so late that the collector ignored it. */
  readonly counts: boolean;
} & (
  | ({ readonly kind: 'interaction.completed' } & Answer)
  | { readonly kind: TakenBack['type']; readonly turnId: string }
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
  readonly said: Said[];
  latest: number;
  /** ms since 1970: when its latest event was appended */
  appended: number;
  /** its time was ahead of the log's clock: the collector let it fall back, and ignores more */
  ahead: boolean;
  forgotten: boolean;
};

export type ConversationBook = ReturnType<typeof openConversationBook>;

const HOUR_MS = 3_600_000;
/** After a day the collector forgets what matched nothing, and ignores what comes so late. */
export const DAY_MS = 24 * 3_600_000;

/** The first copy of each event of `conversations`, by id and in the order of its lane. */
export function openConversationBook(folded: Folded) {
  const byId = new Map<string, Said>();
  const lanes = new Map<string, Lane>();
  const laneOf = (name: string) => {
    const lane = lanes.get(name) ?? {
      said: [],
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
    if (!isTold(event) || byId.has(event.id)) return;
    const lane = laneOf(event.subject);
    const time = Date.parse(event.time);
    lane.ahead ||= lane.latest > record.time + HOUR_MS;
    const horizon = lane.ahead ? record.time - HOUR_MS : lane.latest - DAY_MS;
    const inTime = !lane.forgotten && time >= Math.max(horizon, lane.latest - DAY_MS);
    const takesBack = event.type === 'response.deleted' || event.type === 'interaction.withdrawn';
    const isTimer = event.type === 'session.ended' && event.data.reason === 'idle';
    if (!isTimer && event.type !== 'interaction.withdrawn') lane.latest = Math.max(lane.latest, time);
    const counts = folded('attribute', record) && (inTime || isTimer || takesBack);
    const said: Said = {
      ...{ id: event.id, at, time: event.time, lane: event.subject, key: event.data.key },
      ...{ laneTime: lane.latest, counts },
      ...keptOf(event),
    };
    byId.set(event.id, said);
    lane.said.push(said);
    lane.appended = Math.max(lane.appended, record.time);
  };

  return {
    write,
    get: (id: string): Said | undefined => byId.get(id),
    all: (): Iterable<Said> => byId.values(),
    /** the events of each lane, in order */
    lanes: function* (): Generator<readonly Said[]> {
      for (const { said } of lanes.values()) yield said;
    },
    /** ms since 1970: when the latest event of a lane was appended */
    restsSince: (lane: string): number => lanes.get(lane)?.appended ?? Number.NEGATIVE_INFINITY,
  };
}

const told: readonly string[] = [
  ...(['interaction.completed', 'feedback.given', 'response.deleted'] satisfies Told['type'][]),
  ...(['interaction.withdrawn', 'session.started', 'session.ended'] satisfies Told['type'][]),
];
const isTold = (event: Audited['event']): event is Told => told.includes(event.type);

function keptOf(event: Told) {
  switch (event.type) {
    case 'interaction.completed': {
      const { live, settle, session, adapter, version, finishReason, disconnected, turnType } = event.data;
      const { untrainable, tooLarge = false, engineFinishReason } = event.data;
      return {
        ...{
          kind: event.type,
          live,
          settle,
          session,
          adapter,
          version,
          finishReason,
          disconnected,
          turnType,
        },
        ...{ untrainable, tooLarge, engineFinishReason },
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
