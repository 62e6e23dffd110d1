import type { SessionClosed } from '../../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import type { Audited, ReportViolation } from './audited.ts';
import { type Books, openTextNumbers, openTextSet } from './books/books.ts';
import type { ConversationBook, Entry } from './conversation-book.ts';

type Ended = Extract<Entry, { readonly kind: 'session.ended' }>;
type Interaction = Extract<Entry, { readonly kind: 'interaction.completed' }>;

/** Offsets in `conversations`, by access key and session. */
type LaneWalk = {
  /** latest event that is known to open the session */
  readonly opened: Map<string, number>;
  /** latest event that is known to belong to it */
  readonly touched: Map<string, number>;
  /** by access key: latest event whose session is unknown */
  readonly unknown: Map<string, number>;
};

const nameOf = (key: string, session: string) => `${key} ${session}`;

/**
 * Checks that a session is closed by the event that ended it, in an epoch that one of its events began, and
 * that every interaction of it has an outcome then. Feed it conversations, then turns.
 */
export class SessionCheck {
  readonly #violation: ReportViolation;
  readonly #book: ConversationBook;
  readonly #books: Books;
  /** by interaction: number of the session's name, plus 1 */
  readonly #sessionOf;
  readonly #completed;
  readonly #outcomes;
  /** by access key and session: offsets in `conversations` of the events that closed it */
  readonly #closings = new Map<string, number[]>();
  /** by epoch: number of the event that closed it, plus 1 */
  readonly #closedBy;
  readonly #closers;
  /** session ends that gave turns their outcome */
  readonly #enders;

  constructor(violation: ReportViolation, book: ConversationBook, books: Books) {
    this.#violation = violation;
    this.#book = book;
    this.#books = books;
    this.#sessionOf = openTextNumbers(books.items, 'int');
    this.#completed = openTextSet(books.items);
    this.#outcomes = openTextSet(books.items);
    this.#closedBy = openTextNumbers(books.items, 'int');
    this.#closers = openTextSet(books.items);
    this.#enders = openTextSet(books.items);
  }

  #closerOf(epoch: string): string | undefined {
    const closer = this.#closedBy.get(epoch);
    return closer === 0 ? undefined : this.#books.items.nameOf(closer - 1);
  }

  #onTurn({ data }: TurnCompleted | TurnSkipped): void {
    const { turnId, session, epoch } = data;
    if (!('reason' in data && data.reason === 'too-late')) this.#outcomes.add(turnId);
    if (this.#book.get(data.by)?.kind === 'session.ended') this.#enders.add(data.by);
    if (session === undefined || epoch === undefined) return;
    this.#sessionOf.set(turnId, this.#books.names.add(session) + 1);
    if (!('reason' in data)) this.#completed.add(turnId);
    const [first, answer] = [this.#book.get(epoch), this.#book.get(turnId)];
    if (first === undefined)
      this.#violation(`${turnId} is in the epoch ${epoch}, which no event began`, 'conversations');
    else if (answer !== undefined && (first.lane !== answer.lane || first.at.offset > answer.at.offset))
      // the first copy of its first event may have been trimmed, and a later copy not
      this.#violation(`${turnId} is in the epoch ${epoch}, which began elsewhere`, 'conversations');
  }

  #onClosed({ data, time }: SessionClosed): void {
    const { lane, key, session, epoch, discard = false, by } = data;
    const wrong = (what: string) => this.#violation(`session ${session} was closed by ${by}, which ${what}`);
    const end = this.#book.get(by);
    this.#closedBy.set(epoch, this.#books.items.add(by) + 1);
    this.#closers.add(by);
    if (this.#book.get(epoch) === undefined)
      this.#violation(
        `session ${session} was closed in the epoch ${epoch}, which no event began`,
        'conversations',
      );
    if (end === undefined) {
      this.#violation(`session ${session} was closed by ${by}, which is not in the log`, 'conversations');
      return;
    }
    if (end.kind !== 'session.ended') {
      wrong('did not end a session');
      return;
    }
    const name = nameOf(key, session);
    const offsets = this.#closings.get(name);
    if (offsets === undefined) this.#closings.set(name, [end.at.offset]);
    else offsets.push(end.at.offset);
    if (end.data.session !== session) wrong(`ended session ${end.data.session}`);
    if (end.key !== key || end.lane !== lane) wrong('is of another access key or lane');
    if ((end.data.discard ?? false) !== discard) wrong(`${discard ? 'keeps' : 'discards'} its turns`);
    if (end.data.reason === 'idle' && end.data.epoch !== epoch) wrong(`saw the epoch ${end.data.epoch}`);
    if (end.time !== time) wrong('differs in time');
  }

  readonly on = ({ event }: Audited): void => {
    if (event.type === 'turn.completed' || event.type === 'turn.skipped') this.#onTurn(event);
    else if (event.type === 'session.closed') this.#onClosed(event);
  };

  /** Every end of an open session must close it. */
  #checkEnd(end: Ended, { opened, touched, unknown }: LaneWalk): void {
    const { session, key, reason, epoch, last } = end.data;
    const name = nameOf(key, session);
    if (reason === 'explicit') {
      const open = opened.get(name);
      if (epoch !== undefined || last !== undefined)
        this.#violation(`${end.id} ends session ${session} on request, but has the fields of a timer`);
      if (open === undefined || this.#closers.has(end.id)) return;
      if (!(this.#closings.get(name) ?? []).some((at) => at > open && at <= end.at.offset))
        this.#violation(`${end.id} ended session ${session}, but nothing closed it`, 'turns');
      return;
    }
    const seen = last === undefined ? undefined : this.#book.get(last);
    if (seen === undefined) {
      this.#violation(
        `${end.id} names ${last} as the last event of session ${session}, but it is not in the log`,
        'conversations',
      );
      return;
    }
    const latest = Math.max(touched.get(name) ?? -1, unknown.get(key) ?? -1);
    if (latest <= seen.at.offset && this.#closerOf(epoch ?? '') === undefined)
      this.#violation(`${end.id} ended session ${session}, but nothing closed its epoch ${epoch}`, 'turns');
  }

  #sessionNameOf(interaction: string): string | undefined {
    const name = this.#sessionOf.get(interaction);
    return name === 0 ? undefined : this.#books.names.nameOf(name - 1);
  }

  #walk(entry: Entry, lane: LaneWalk): void {
    const about = entry.kind === 'feedback.given' ? entry.data.interactionId : entry.id;
    const session = entry.kind === 'session.started' ? entry.session : this.#sessionNameOf(about);
    if (session === undefined) lane.unknown.set(entry.key, entry.at.offset);
    else {
      lane.touched.set(nameOf(entry.key, session), entry.at.offset);
      const opens = entry.kind === 'session.started' || this.#completed.has(entry.id);
      if (opens && entry.counts) lane.opened.set(nameOf(entry.key, session), entry.at.offset);
    }
  }

  /** An interaction of a closed session must have an outcome. */
  #checkOutcome(answer: Interaction, seenLast: ReadonlyMap<string, string>): void {
    const wrong = (what: string) => this.#violation(`${answer.id} has no outcome, although ${what}`, 'turns');
    const [closer, last] = [this.#closerOf(answer.id), seenLast.get(answer.id)];
    if (closer !== undefined) {
      wrong(`${closer} closed the session that it began`);
      return;
    }
    if (last !== undefined) {
      wrong(`${last} closed its session after it`);
      return;
    }
    if (answer.session === undefined) return;
    const after = this.#closings.get(nameOf(answer.key, answer.session))?.some((at) => at > answer.at.offset);
    if (after) wrong(`its session ${answer.session} was closed after it`);
  }

  finish(): void {
    for (const { id: by, counts } of this.#book.others())
      if (counts && this.#enders.has(by) && !this.#closers.has(by))
        this.#violation(`${by} ended turns of its session, but nothing closed it`, 'turns');
    const seenLast = new Map<string, string>();
    for (const lane of this.#book.lanes()) {
      const offsets: LaneWalk = { opened: new Map(), touched: new Map(), unknown: new Map() };
      for (const entry of lane) {
        if (entry.kind === 'response.deleted' || entry.kind === 'interaction.withdrawn') continue;
        if (entry.kind !== 'session.ended') this.#walk(entry, offsets);
        else if (entry.counts) {
          this.#checkEnd(entry, offsets);
          const { epoch = '', last } = entry.data;
          if (last !== undefined && this.#closerOf(epoch) === entry.id) seenLast.set(last, entry.id);
        }
      }
    }
    for (const entry of this.#book.all())
      if (
        entry.kind === 'interaction.completed' &&
        entry.live &&
        entry.counts &&
        !this.#outcomes.has(entry.id)
      )
        this.#checkOutcome(entry, seenLast);
  }
}
