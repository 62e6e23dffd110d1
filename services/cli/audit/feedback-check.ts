import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { Audited, ReportViolation } from './audited.ts';
import { type Books, openTextNumbers, openTextSet } from './books/books.ts';
import { type ConversationBook, DAY_MS, type Entry } from './conversation-book.ts';

type Given = Extract<Entry, { readonly kind: 'feedback.given' }>;

/** The part of an advantage that goes up the tree. */
const treePartOf = ({ advantage = 0, return: earned }: TurnFeedback['data']): number =>
  advantage - (earned?.step ?? 0);

/** tolerance for the sum of a thousand advantages */
const ROUNDING = 1e-9;

/**
 * Checks that feedback reaches the turn that it names, unchanged; feedback on unknown turns is counted. Checks
 * that the advantages along the conversation tree of a rewarded session add up. Feed it conversations, then turns.
 */
export class FeedbackCheck {
  readonly #violation: ReportViolation;
  readonly #book: ConversationBook;
  readonly #delivered = new Map<string, TurnFeedback['data']>();
  /** by turn */
  readonly #returns = new Map<string, TurnFeedback['data']>();
  /** by lane and end time of a rewarded session */
  readonly #discounts = new Map<string, number>();
  readonly #outcomes;
  readonly #completed;
  /** by turn: offset in `conversations` after the end of its rewarded session */
  readonly #ended;

  constructor(violation: ReportViolation, book: ConversationBook, { items }: Books) {
    this.#violation = violation;
    this.#book = book;
    this.#outcomes = openTextSet(items);
    this.#completed = openTextSet(items);
    this.#ended = openTextNumbers(items, 'double');
  }

  #onFeedback({ data, time }: TurnFeedback): void {
    const { turnId, lane, score, advantage, comment, given: by } = data;
    const given = this.#book.get(by);
    const wrong = (what: string) => this.#violation(`the feedback ${by} on ${turnId} ${what}`);
    if (given === undefined) {
      this.#violation(`the feedback ${by} on ${turnId} is not in the log`, 'conversations');
      return;
    }
    if (given.lane !== lane) wrong('comes from another lane');
    if (data.return !== undefined) {
      if (this.#returns.has(turnId)) return;
      this.#returns.set(turnId, data);
      if ((data.return.own !== null) !== (given.kind === 'feedback.given'))
        wrong('is a return with its own reward, but names another event');
      if (given.kind === 'session.ended' && given.time !== time)
        wrong('differs in time from the end of its session');
      if (given.kind === 'feedback.given') {
        if (given.data.comment !== comment) wrong('has another comment than was given');
      }
      const end = `${lane} ${time}`;
      if ((this.#discounts.get(end) ?? data.return.discount) !== data.return.discount)
        wrong('has another discount than the rest of its session');
      this.#discounts.set(end, data.return.discount);
      return;
    }
    if (given.kind !== 'feedback.given') {
      wrong('does not come from feedback');
      return;
    }
    this.#delivered.set(by, data);
    if (given.data.interactionId !== turnId) wrong(`was given on ${given.data.interactionId}`);
    if (given.data.score !== score) wrong(`has the score ${score}, but ${given.data.score} was given`);
    if (given.data.advantage !== advantage) wrong('has another advantage than was given');
    if (given.data.comment !== comment) wrong('has another comment than was given');
  }

  readonly on = ({ event }: Audited): void => {
    if (event.type === 'turn.feedback') this.#onFeedback(event);
    else if (event.type === 'turn.skipped') {
      if (event.data.reason !== 'too-late') this.#outcomes.add(event.data.turnId);
    } else if (event.type === 'turn.completed') {
      this.#outcomes.add(event.data.turnId);
      this.#completed.add(event.data.turnId);
      const end = this.#book.get(event.data.by);
      if (event.data.settle === 'reward' && end?.kind === 'session.ended')
        this.#ended.set(event.data.turnId, end.at.offset + 1);
    }
  };

  /** @returns whether the feedback names an answer that its key never received */
  #checkGiven(given: Given): boolean {
    const { interactionId, last } = given.data;
    const answer = this.#book.get(interactionId);
    if (answer?.kind !== 'interaction.completed' || answer.key !== given.key || answer.lane !== given.lane)
      return true;
    const isEarly = given.at.offset < answer.at.offset;
    const apart = isEarly ? answer.laneTime - Date.parse(given.time) : given.laneTime - answer.laneTime;
    if (apart > DAY_MS) return isEarly; // the collector may have forgotten the earlier one
    if (
      answer.settle === 'votes' &&
      answer.counts &&
      this.#outcomes.has(interactionId) &&
      !this.#delivered.has(given.id)
    )
      this.#violation(`the feedback ${given.id} never reached ${interactionId}`, 'turns');
    const end = this.#ended.get(interactionId);
    if (given.at.offset >= end || last || this.#delivered.has(given.id)) return false;
    const earned = this.#returns.get(interactionId);
    const by = earned === undefined ? undefined : this.#book.get(earned.given);
    if (earned === undefined)
      this.#violation(`the reward ${given.id} never reached ${interactionId}`, 'turns');
    else if (by?.kind === 'session.ended' || (by !== undefined && by.at.offset < given.at.offset))
      this.#violation(
        `${interactionId} was rewarded by ${earned.given}, although the later ${given.id} replaces it`,
      );
    return false;
  }

  /** A reward for the last answer may move from a side request to the turn before it. */
  #checkRewarded(): void {
    for (const { turnId, given: by } of this.#returns.values()) {
      const given = this.#book.get(by);
      if (given?.kind !== 'feedback.given' || given.data.interactionId === turnId) continue;
      const { interactionId, last } = given.data;
      if (!last || this.#book.get(interactionId) === undefined || this.#completed.has(interactionId))
        this.#violation(`the feedback ${by} on ${turnId} was given on ${interactionId}`, 'conversations');
    }
  }

  #checkAdvantages(): void {
    const children = Map.groupBy(this.#returns.values(), (feedback) => feedback.return?.parent ?? null);
    for (const { turnId, advantage, given: by, return: earned } of this.#returns.values()) {
      if (advantage === undefined || earned === undefined) continue;
      const given = this.#book.get(by);
      const own = earned.own !== null && given?.kind === 'feedback.given' ? (given.data.advantage ?? 0) : 0;
      const of = children.get(turnId) ?? [];
      const mean = of.reduce((sum, child) => sum + treePartOf(child), 0) / (of.length || 1);
      const sum = own + earned.discount * mean + (earned.step ?? 0);
      if (!(Math.abs(advantage - sum) <= ROUNDING * Math.max(1, Math.abs(sum))))
        this.#violation(
          `${turnId} has the advantage ${advantage}, but ${sum} by the conversation tree`,
          earned.own !== null && given === undefined ? 'conversations' : 'turns',
        );
    }
  }

  /** @returns the number of feedback events that name no answer of their key */
  finish(): number {
    this.#checkRewarded();
    this.#checkAdvantages();
    let unmatched = 0;
    for (const entry of this.#book.others())
      if (entry.kind === 'feedback.given' && entry.counts && this.#checkGiven(entry)) unmatched += 1;
    return unmatched;
  }
}
