import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import type { TurnWithdrawn } from '../../../shared/events/turn-withdrawn.ts';
import type { Audited, ReportViolation } from './audited.ts';
import { type Books, openTextSet } from './books/books.ts';
import type { Answer, ConversationBook, Entry } from './conversation-book.ts';

type Reason = TurnSkipped['data']['reason'];
type Cause = { readonly turnId: string; readonly by: string };

/** Reasons that the interaction itself shows. */
const shownBy: Readonly<Partial<Record<Reason, (answer: Answer) => boolean>>> = {
  'too-large': ({ tooLarge, untrainable }) => tooLarge || untrainable === 'too-large',
  aborted: ({ disconnected, finishReason }) =>
    disconnected || ['aborted', 'error', 'content_filter'].includes(finishReason),
  truncated: ({ finishReason }) => finishReason === 'length',
  'unknown-finish-reason': ({ engineFinishReason }) => engineFinishReason !== undefined,
  penalties: ({ untrainable }) => untrainable === 'penalties',
  constrained: ({ untrainable }) => untrainable === 'constrained',
  'mixed-versions': ({ untrainable }) => untrainable === 'mixed-versions',
  'logprob-temperature': ({ untrainable }) => untrainable === 'logprob-temperature',
  'no-reward': ({ settle }) => settle === 'reward',
};

/** Reasons given by the end of a session. */
const atEnd: readonly Reason[] = ['no-next-state', 'no-reward', 'discarded'];

/**
 * Checks that the outcome of an interaction has its cause in the log, and that the reason matches the
 * interaction or that cause. Some interactions must have an outcome at once. Feed it conversations, then turns.
 */
export class OutcomeCheck {
  readonly #violation: ReportViolation;
  readonly #book: ConversationBook;
  readonly #outcomes;
  readonly #withdrawn;

  constructor(violation: ReportViolation, book: ConversationBook, { items }: Books) {
    this.#violation = violation;
    this.#book = book;
    this.#outcomes = openTextSet(items);
    this.#withdrawn = openTextSet(items);
  }

  #withdraws(entry: Entry, turnId: string): boolean {
    return (
      (entry.kind === 'response.deleted' || entry.kind === 'interaction.withdrawn') && entry.turnId === turnId
    );
  }

  /** The cause of an outcome, which must have the same time. */
  #causeOf(what: string, { by }: Cause, time: string): Entry | undefined {
    const cause = this.#book.get(by);
    if (cause === undefined)
      this.#violation(`${what} follows from ${by}, which is not in the log`, 'conversations');
    else if (cause.time !== time) this.#violation(`${what} differs in time from its cause ${by}`);
    return cause;
  }

  #onSkipped({ data, time }: TurnSkipped): void {
    const { turnId, reason, lane } = data;
    if (reason !== 'too-late') this.#outcomes.add(turnId);
    const wrong = (what: string) => this.#violation(`${turnId} was skipped as ${reason}, ${what}`);
    const cause = this.#causeOf(`the outcome of ${turnId}`, data, time);
    const answer = this.#book.get(turnId);
    if (answer?.kind !== 'interaction.completed') return; // reported by the conservation check
    if (answer.lane !== lane) wrong(`in another lane than its interaction`);
    if (shownBy[reason]?.(answer) === false) wrong('but its interaction contradicts that');
    if (cause === undefined) return;
    if (atEnd.includes(reason)) {
      if (cause.kind !== 'session.ended') wrong(`but ${cause.id} did not end a session`);
      else if ((cause.data.discard ?? false) !== (reason === 'discarded'))
        wrong(`but ${cause.id} ${cause.data.discard ? 'discarded' : 'kept'} its session`);
    } else if (reason === 'deleted' || reason === 'withdrawn') {
      if (cause.id !== turnId && !this.#withdraws(cause, turnId))
        wrong(`but ${cause.id} withdraws another answer`);
    } else if (reason === 'superseded' || reason === 'record-gone') {
      if (cause.kind !== 'interaction.completed' && cause.kind !== 'session.ended')
        wrong(`but ${cause.id} is a ${cause.kind}`);
    } else if (cause.id !== turnId) wrong('but the cause is another event');
  }

  #onCompleted({ data, time }: TurnCompleted): void {
    this.#outcomes.add(data.turnId);
    const cause = this.#causeOf(`the turn of ${data.turnId}`, data, time);
    if (cause === undefined) return;
    // without a next state: completed by feedback, which may come first, or by a request that replaces it
    const isRated = cause.kind === 'feedback.given' && cause.data.interactionId === data.turnId;
    const holds =
      cause.kind === 'interaction.completed' ||
      (data.from === null && (cause.kind === 'session.ended' || isRated));
    if (!holds)
      this.#violation(`the turn of ${data.turnId} was completed by ${data.by}, which is a ${cause.kind}`);
    if (cause.lane !== data.lane)
      this.#violation(`the turn of ${data.turnId} was completed from another lane, by ${data.by}`);
  }

  #onWithdrawn({ data, time }: TurnWithdrawn): void {
    this.#withdrawn.add(data.turnId);
    const cause = this.#causeOf(`the withdrawal of ${data.turnId}`, data, time);
    if (cause !== undefined && !this.#withdraws(cause, data.turnId))
      this.#violation(`${data.turnId} was withdrawn by ${cause.id}, which names another answer`);
  }

  readonly on = ({ event }: Audited): void => {
    if (event.type === 'turn.skipped') this.#onSkipped(event);
    else if (event.type === 'turn.completed') this.#onCompleted(event);
    else if (event.type === 'turn.withdrawn') this.#onWithdrawn(event);
  };

  /** Reports interactions that must have an outcome by now. */
  finish(): void {
    for (const entry of this.#book.all()) {
      if (!entry.counts) continue;
      const isWithdrawal = entry.kind === 'response.deleted' || entry.kind === 'interaction.withdrawn';
      if (isWithdrawal && !this.#withdrawn.has(entry.turnId) && !this.#outcomes.has(entry.turnId))
        this.#violation(
          `${entry.turnId} was withdrawn by ${entry.id}, but has neither turn.skipped nor turn.withdrawn`,
          'turns',
        );
      if (entry.kind !== 'interaction.completed' || !entry.live || this.#outcomes.has(entry.id)) continue;
      const reason = Object.entries(shownBy).find(
        ([name, holds]) => name !== 'no-reward' && holds(entry),
      )?.[0];
      if (reason !== undefined || entry.turnType === 'side')
        this.#violation(`${entry.id} has no outcome, although it is ${reason ?? 'a side request'}`, 'turns');
    }
  }
}
