import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import { namesOf, turnNamed } from '../events/names.ts';
import { turnOfSample } from '../events/sample-id.ts';
import type { Keyed } from '../lang/keyed.ts';
import type { Recorded } from '../log/event-log.ts';
import { type WishKind, wishesIn } from '../wishes/wishes.ts';
import { packPlace } from './place.ts';
import { noteSession, type SessionState } from './session-table.ts';
import type { BatchRow, TurnRow } from './turn-row.ts';
import { shortened, spokenIn } from './turn-texts.ts';
import type { TurnsState } from './turns-state.ts';

/** Answers that feedback or a deletion named before their own record, which an outbox held; more are forgotten. */
const MOST_EARLY = 10_000;
const mayBeEarly: ReadonlySet<string> = new Set(['feedback.given', 'response.deleted']);

type Early = TurnsState['early'][number][1][number];
/** Places and types of these records, by the id of their turn. */
export type EarlyRecords = Map<string, readonly Early[]>;

type Recorder = {
  /** A row that was taken from here is changed in place. */
  readonly rows: Keyed<TurnRow>;
  readonly batches: Keyed<BatchRow>;
  readonly sessions: Keyed<SessionState>;
  readonly early: EarlyRecords;
  readonly views: { readonly on: (event: ClawLoopEvent) => void };
  /** Called with the id of each turn that has another record. */
  readonly changed?: (turnId: string) => void;
};

/**
 * Notes the places of the records of each turn, and everything else that a `TurnRow` holds. Feed it the topics in the
 * order of the loop, or parts of them in this order.
 */
export function recordTurns({ rows, batches, sessions, early, views, changed = () => {} }: Recorder) {
  const add = (event: Extract<ClawLoopEvent, { type: 'interaction.completed' }>, at: number): void => {
    const { interactionId: id } = event.data;
    if (rows.has(id)) return;
    const row = firstRow(event, at);
    for (const [place, type] of early.get(id) ?? []) {
      row.places.push(place);
      row.isDeleted ||= type === 'response.deleted';
    }
    early.delete(id);
    rows.set(id, row);
  };

  const note = (row: TurnRow, place: number, event: ClawLoopEvent): void => {
    row.places.push(place);
    changed(row.id);
    noteDetails(row, place, event);
  };

  const keepEarly = (id: string, place: number, type: string): void => {
    const [oldest] = early.keys();
    if (early.size >= MOST_EARLY && !early.has(id)) early.delete(oldest!);
    early.set(id, [...(early.get(id) ?? []), [place, type]]);
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

  return ({ event, at }: Recorded, topic: Topic): void => {
    const place = packPlace({ topic, ...at });
    if (event.type === 'interaction.completed') add(event, place);
    noteSession(sessions, event);
    noteBatch(event, place);
    const turn = turnNamed(namesOf(event));
    const row = rows.get(turn ?? '');
    if (row !== undefined) note(row, place, event);
    else if (turn !== undefined && mayBeEarly.has(event.type)) keepEarly(turn, place, event.type);
    views.on(event);
  };
}

function firstRow(
  { time, data }: Extract<ClawLoopEvent, { type: 'interaction.completed' }>,
  at: number,
): TurnRow {
  return {
    id: data.interactionId,
    ms: Date.parse(time),
    at,
    key: data.key,
    user: data.user,
    isSettledByReward: data.settle === 'reward',
    places: [],
    batches: [],
    next: undefined,
    reactionAt: undefined,
    hintsAt: undefined,
    inferredAt: undefined,
    wishes: noWishes,
    isDeleted: false,
  };
}

const noWishes: readonly WishKind[] = [];

function noteDetails(row: TurnRow, place: number, event: ClawLoopEvent): void {
  switch (event.type) {
    case 'turn.completed':
    case 'turn.continued':
      row.next = event.data.from ?? row.next;
      row.reactionAt = spokenIn(event.data.next) === '' ? undefined : place;
      break;
    case 'judgment.reached':
      if (event.data.inferred !== undefined) row.inferredAt = place;
      noteHints(row, place, event.data.hints);
      break;
    case 'judgment.revised':
      if (event.data.score !== null) row.inferredAt = undefined;
      noteHints(row, place, event.data.hints);
      break;
    case 'response.deleted':
      row.isDeleted = true;
      break;
  }
}

function noteHints(row: TurnRow, place: number, hints: readonly string[]): void {
  if (hints.length === 0) return;
  row.hintsAt = place;
  row.wishes = hints.flatMap((hint) => wishesIn(shortened(hint)));
}
