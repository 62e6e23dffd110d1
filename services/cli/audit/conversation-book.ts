import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { InteractionWithdrawn } from '../../../shared/events/interaction-withdrawn.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../../shared/events/session-started.ts';
import { type Audited, type Folded, placeNumber, placeOf } from './audited.ts';
import type { Books } from './books/books.ts';
import { openTable } from './books/table.ts';
import { openTimes } from './books/times.ts';

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
  /** numbers of its events, in order */
  readonly entries: number[];
  latest: number;
  /** ms since 1970: append time of its latest event */
  appended: number;
  /** An event's time was ahead of the log's clock: the collector set its clock back and ignores more. */
  ahead: boolean;
  forgotten: boolean;
};

export type ConversationBook = ReturnType<typeof openConversationBook>;

/** a power of two */
const RECENT = 64;

const HOUR_MS = 3_600_000;
/** After a day the collector forgets unmatched interactions and ignores events that are that late. */
export const DAY_MS = 24 * 3_600_000;

/** The first copy of each event of `conversations`, by id and in the order of its lane. */
export function openConversationBook(folded: Folded, books: Books) {
  const answers = openAnswers(books);
  /** by number: all but answers, which are most */
  const others = new Map<number, Entry>();
  const lanes = new Map<string, Lane>();
  const laneOf = (name: string): Lane => {
    const known = lanes.get(name);
    if (known !== undefined) return known;
    const latest = Number.NEGATIVE_INFINITY;
    const lane = { entries: [], latest, appended: 0, ahead: false, forgotten: false };
    lanes.set(name, lane);
    return lane;
  };
  /** The entries that were read last: several checks ask for the same ones. */
  const recent: { readonly number: number; readonly entry: Entry }[] = [];
  const entryAt = (number: number): Entry | undefined => {
    const other = others.get(number);
    if (other !== undefined) return other;
    const slot = number & (RECENT - 1);
    const before = recent[slot];
    if (before?.number === number) return before.entry;
    const entry = answers.get(number);
    if (entry !== undefined) recent[slot] = { number, entry };
    return entry;
  };

  function* entriesOf(numbers: readonly number[]): Generator<Entry> {
    for (const number of numbers) yield entryAt(number)!;
  }

  const write = (record: Audited): void => {
    const { event, at } = record;
    if (event.type === 'lane.forgotten') laneOf(event.data.lane).forgotten = true;
    if (!isBooked(event)) return;
    const number = books.items.add(event.id);
    if (others.has(number) || answers.has(number)) return;
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
    if (entry.kind === 'interaction.completed') answers.set(number, entry);
    else others.set(number, entry);
    lane.entries.push(number);
    lane.appended = Math.max(lane.appended, record.time);
  };

  return {
    write,
    get: (id: string): Entry | undefined => {
      const number = books.items.find(id);
      return number < 0 ? undefined : entryAt(number);
    },
    all: function* (): Generator<Entry> {
      for (let number = 0; number < books.items.size(); number++) {
        const entry = entryAt(number);
        if (entry !== undefined) yield entry;
      }
    },
    /** all but answers */
    others: (): Iterable<Entry> => others.values(),
    /** the events of each lane, in order */
    lanes: function* (): Generator<Iterable<Entry>> {
      for (const { entries } of lanes.values()) yield entriesOf(entries);
    },
    /** append time of the latest event of a lane, ms since 1970 */
    restsSince: (lane: string): number => lanes.get(lane)?.appended ?? Number.NEGATIVE_INFINITY,
  };
}

type AnswerEntry = Extract<Entry, { readonly kind: 'interaction.completed' }>;

/** Answers in columns, by their number. */
function openAnswers({ items, names }: Books) {
  const times = openTimes();
  const table = openTable(names, {
    place: 'number',
    laneTime: 'number',
    counts: 'flag',
    live: 'flag',
    disconnected: 'flag',
    tooLarge: 'flag',
    lane: 'name',
    key: 'name',
    session: 'name',
    adapter: 'name',
    version: 'count',
    settle: 'name',
    finishReason: 'name',
    turnType: 'name',
    untrainable: 'name',
    engineFinishReason: 'name',
  });
  return {
    has: table.has,
    set: (number: number, { at, session, turnType, ...entry }: AnswerEntry): void => {
      table.set(number, { ...entry, session, turnType, place: placeNumber(at) });
      times.set(number, entry.time);
    },
    get: (number: number): AnswerEntry | undefined => {
      const row = table.get(number);
      if (row === undefined) return undefined;
      const { place, ...entry } = row;
      // the same values that were set
      const kept = { kind: 'interaction.completed', ...entry, at: placeOf(place!) };
      const lazily = {
        get id() {
          return items.nameOf(number);
        },
        get time() {
          return times.get(number);
        },
      };
      return Object.assign(lazily, kept) as unknown as AnswerEntry;
    },
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
