import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { namesOf, turnNamed } from '../../../shared/events/names.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { type TurnView, TurnViews } from '../../../shared/views/turn-view.ts';
import { packPlace } from './place.ts';

/** What the console keeps about a turn. Bodies stay in the log. */
export type TurnRow = {
  readonly id: string;
  /** ms since 1970 of its answer */
  readonly ms: number;
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
  hints: readonly string[];
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

/** Characters of a text that stay in memory: what the list shows and the search by words reads. */
const KEPT = 240;
/** Characters in which secrets are looked for; a secret that begins before KEPT ends within them. */
const SEARCHED = 8_000;

/** Answers that feedback or a deletion named before their own record, which an outbox held; more are forgotten. */
const MOST_EARLY = 10_000;
const mayBeEarly: ReadonlySet<string> = new Set(['feedback.given', 'response.deleted']);

/** A copy, since a slice would keep the whole text in memory. */
const shorten = (text: string): string =>
  Buffer.from(withoutSecrets(text.slice(0, SEARCHED)).slice(0, KEPT)).toString();

export type TurnTable = ReturnType<typeof createTurnTable>;

/** All turns of the log as small rows. Feed it the topics in the order of the loop. */
export function createTurnTable() {
  let changed = new Set<string>();
  const views = new TurnViews({ shorten, changed: (id) => changed.add(id) });
  const rows = new Map<string, TurnRow>();
  const batches = new Map<string, BatchRow>();
  const early = new Map<string, (readonly [place: number, event: ClawLoopEvent])[]>();
  let ordered: TurnRow[] = [];
  let isOrdered = true;

  const add = (event: Extract<ClawLoopEvent, { type: 'interaction.completed' }>): void => {
    const { interactionId: id, key, user, settle } = event.data;
    if (rows.has(id)) return;
    const row: TurnRow = {
      id,
      ms: Date.parse(event.time),
      key,
      user,
      isSettledByReward: settle === 'reward',
      places: [],
      batches: [],
      next: undefined,
      hints: [],
      isDeleted: false,
    };
    rows.set(id, row);
    const last = ordered.at(-1);
    if (last !== undefined && inOrder(last, row) > 0) isOrdered = false;
    ordered.push(row);
    for (const [place, before] of early.get(id) ?? []) note(row, place, before);
    early.delete(id);
  };

  const note = (row: TurnRow, place: number, event: ClawLoopEvent): void => {
    row.places.push(place);
    changed.add(row.id);
    noteDetails(row, event);
  };

  const keepEarly = (id: string, place: number, event: ClawLoopEvent): void => {
    const [oldest] = early.keys();
    if (early.size >= MOST_EARLY && !early.has(id)) early.delete(oldest!);
    early.set(id, [...(early.get(id) ?? []), [place, event]]);
  };

  const noteBatch = (event: ClawLoopEvent, at: number): void => {
    if (event.type === 'batch.submitted' && !batches.has(event.data.batchId)) {
      const { batchId, adapter, n, parent, samples } = event.data;
      const turns = [...new Set(samples.map(({ sampleId }) => turnOfSample(sampleId)))];
      batches.set(batchId, { id: batchId, adapter, n, parent, turns, places: [] });
      for (const turn of turns) rows.get(turn)?.batches.push(batchId);
    }
    const { batchId } = namesOf(event);
    if (batchId !== undefined) batches.get(batchId)?.places.push(at);
  };

  const on = ({ event, at }: Recorded, topic: Topic): void => {
    if (event.type === 'interaction.completed') add(event);
    const place = packPlace({ topic, ...at });
    noteBatch(event, place);
    const turn = turnNamed(namesOf(event));
    const row = rows.get(turn ?? '');
    if (row !== undefined) note(row, place, event);
    else if (turn !== undefined && mayBeEarly.has(event.type)) keepEarly(turn, place, event);
    views.on(event);
  };

  /** Oldest first. */
  const inTime = (): readonly TurnRow[] => {
    if (!isOrdered) ordered = ordered.sort(inOrder);
    isOrdered = true;
    return ordered;
  };

  return {
    on,
    inTime,
    size: () => rows.size,
    row: (id: string): TurnRow | undefined => rows.get(id),
    view: (id: string): TurnView => views.turns.get(id)!,
    batch: (id: string): BatchRow | undefined => batches.get(id),
    batches: (): Iterable<BatchRow> => batches.values(),
    /** Ids of the turns that changed since the last call. */
    takeChanged: (): ReadonlySet<string> => {
      const taken = changed;
      changed = new Set();
      return taken;
    },
  };
}

function noteDetails(row: TurnRow, event: ClawLoopEvent): void {
  switch (event.type) {
    case 'turn.completed':
    case 'turn.continued':
      row.next = event.data.from ?? row.next;
      break;
    case 'judgment.reached':
    case 'judgment.revised':
      if (event.data.hints.length > 0) row.hints = event.data.hints.map(shorten);
      break;
    case 'response.deleted':
      row.isDeleted = true;
      break;
  }
}

/** By time; equal times by id, so that a cursor is exact. */
const inOrder = (a: Pick<TurnRow, 'ms' | 'id'>, b: Pick<TurnRow, 'ms' | 'id'>): number =>
  a.ms - b.ms || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** Index of the first row that is not before the cursor `<ms>.<id>`. */
export function indexOfCursor(rows: readonly TurnRow[], cursor: string): number {
  const [ms = '', ...id] = cursor.split('.');
  const wanted = { ms: Number(ms), id: id.join('.') };
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inOrder(rows[middle]!, wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const cursorOf = ({ ms, id }: TurnRow): string => `${ms}.${id}`;
