import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { Audited, Tell } from './audited.ts';
import { type ConversationBook, DAY_MS, type Said } from './conversation-book.ts';

type Given = Extract<Said, { readonly kind: 'feedback.given' }>;

/** Of the sum of a thousand advantages. */
const ROUNDING = 1e-9;

/**
 * Feedback reaches the turn that it names, unchanged; or nobody knows that turn, and the audit counts it. The
 * advantages along the conversation tree of a rewarded session add up. Feed it conversations, then turns.
 */
export function createFeedbackCheck(tell: Tell, book: ConversationBook) {
  const told = new Map<string, TurnFeedback['data']>();
  /** by turn: returns, and where in `conversations` its session ended */
  const returns = new Map<string, TurnFeedback['data']>();
  /** by lane and time of the end of a rewarded session */
  const discounts = new Map<string, number>();
  const outcomes = new Set<string>();
  const completed = new Set<string>();
  /** by turn: offset of the end of its rewarded session */
  const ended = new Map<string, number>();

  const onFeedback = ({ data, time }: TurnFeedback): void => {
    const { turnId, lane, score, advantage, comment, given: by } = data;
    const given = book.get(by);
    const wrong = (what: string) => tell(`the feedback ${by} on ${turnId} ${what}`);
    if (given === undefined) {
      tell(`the feedback ${by} on ${turnId} stands nowhere`, 'conversations');
      return;
    }
    if (given.lane !== lane) wrong('comes from another lane');
    if (data.return !== undefined) {
      if (returns.has(turnId)) return;
      returns.set(turnId, data);
      if ((data.return.own !== null) !== (given.kind === 'feedback.given'))
        wrong('is a return of its own reward, and names another event');
      if (given.kind === 'session.ended' && given.time !== time)
        wrong('bears another time than its session’s end');
      if (given.kind === 'feedback.given') {
        if (given.data.comment !== comment) wrong('has another comment than was given');
      }
      const end = `${lane} ${time}`;
      if ((discounts.get(end) ?? data.return.discount) !== data.return.discount)
        wrong('was discounted otherwise than the rest of its session');
      discounts.set(end, data.return.discount);
      return;
    }
    if (given.kind !== 'feedback.given') {
      wrong('was never given');
      return;
    }
    told.set(by, data);
    if (given.data.interactionId !== turnId) wrong(`was given on ${given.data.interactionId}`);
    if (given.data.score !== score) wrong(`has the score ${score}, and ${given.data.score} was given`);
    if (given.data.advantage !== advantage) wrong('has another advantage than was given');
    if (given.data.comment !== comment) wrong('has another comment than was given');
  };

  const on = ({ event }: Audited): void => {
    if (event.type === 'turn.feedback') onFeedback(event);
    else if (event.type === 'turn.skipped') {
      if (event.data.reason !== 'too-late') outcomes.add(event.data.turnId);
    } else if (event.type === 'turn.completed') {
      outcomes.add(event.data.turnId);
      completed.add(event.data.turnId);
      const end = book.get(event.data.by);
      if (event.data.settle === 'reward' && end?.kind === 'session.ended')
        ended.set(event.data.turnId, end.at.offset);
    }
  };

  /** @returns whether the feedback names an answer that its key never got */
  const checkGiven = (given: Given): boolean => {
    const { interactionId, last } = given.data;
    const answer = book.get(interactionId);
    if (answer?.kind !== 'interaction.completed' || answer.key !== given.key || answer.lane !== given.lane)
      return true;
    const isEarly = given.at.offset < answer.at.offset;
    const apart = isEarly ? answer.laneTime - Date.parse(given.time) : given.laneTime - answer.laneTime;
    if (apart > DAY_MS) return isEarly; // the collector may have forgotten the earlier of the two
    if (answer.settle === 'votes' && answer.counts && outcomes.has(interactionId) && !told.has(given.id))
      tell(`the feedback ${given.id} never reached ${interactionId}`, 'turns');
    const end = ended.get(interactionId);
    if (end === undefined || given.at.offset > end || last || told.has(given.id)) return false;
    const earned = returns.get(interactionId);
    const by = earned === undefined ? undefined : book.get(earned.given);
    if (earned === undefined) tell(`the reward ${given.id} never reached ${interactionId}`, 'turns');
    else if (by?.kind === 'session.ended' || (by !== undefined && by.at.offset < given.at.offset))
      tell(`${interactionId} earned by ${earned.given}, although ${given.id} rewarded it later`);
    return false;
  };

  /** A reward that was meant for the last answer may pass from a side request to the turn before it. */
  const checkRewarded = (): void => {
    for (const { turnId, given: by } of returns.values()) {
      const given = book.get(by);
      if (given?.kind !== 'feedback.given' || given.data.interactionId === turnId) continue;
      const { interactionId, last } = given.data;
      if (!last || book.get(interactionId) === undefined || completed.has(interactionId))
        tell(`the feedback ${by} on ${turnId} was given on ${interactionId}`, 'conversations');
    }
  };

  const checkAdvantages = (): void => {
    const children = Map.groupBy(returns.values(), (one) => one.return?.parent ?? null);
    for (const { turnId, advantage, given: by, return: earned } of returns.values()) {
      if (advantage === undefined || earned === undefined) continue;
      const given = book.get(by);
      const own = earned.own !== null && given?.kind === 'feedback.given' ? (given.data.advantage ?? 0) : 0;
      const of = children.get(turnId) ?? [];
      const mean = of.reduce((sum, child) => sum + (child.advantage ?? 0), 0) / (of.length || 1);
      const sum = own + earned.discount * mean;
      if (!(Math.abs(advantage - sum) <= ROUNDING * Math.max(1, Math.abs(sum))))
        tell(`${turnId} has the advantage ${advantage}, and ${sum} by the conversation tree`);
    }
  };

  /** @returns how much feedback named no answer of its key */
  const finish = (): number => {
    checkRewarded();
    checkAdvantages();
    let unmatched = 0;
    for (const said of book.all())
      if (said.kind === 'feedback.given' && said.counts && checkGiven(said)) unmatched += 1;
    return unmatched;
  };
  return { on, finish };
}
