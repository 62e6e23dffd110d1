import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import type { TurnWithdrawn } from '../../../shared/events/turn-withdrawn.ts';
import type { Audited, Tell } from './audited.ts';
import type { Answer, ConversationBook, Said } from './conversation-book.ts';

type Reason = TurnSkipped['data']['reason'];
type Cause = { readonly turnId: string; readonly by: string };

/** Reasons that the interaction itself shows. */
const shown: Readonly<Partial<Record<Reason, (answer: Answer) => boolean>>> = {
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

/** Reasons that the end of a session gives. */
const atEnd: readonly Reason[] = ['no-next-state', 'no-reward', 'discarded'];

/**
 * The outcome of an interaction follows from an event that stands in the log, and its reason from the
 * interaction or from that event. What the interaction itself shows has an outcome at once. Feed it
 * conversations, then turns.
 */
export function createOutcomeCheck(tell: Tell, book: ConversationBook) {
  const outcomes = new Set<string>();
  const withdrawn = new Set<string>();

  const takesBack = (said: Said, turnId: string): boolean =>
    (said.kind === 'response.deleted' || said.kind === 'interaction.withdrawn') && said.turnId === turnId;

  /** What caused an outcome; an outcome bears the time of its cause. */
  const causeOf = (what: string, { by }: Cause, time: string): Said | undefined => {
    const cause = book.get(by);
    if (cause === undefined) tell(`${what} follows from ${by}, which stands nowhere`, 'conversations');
    else if (cause.time !== time) tell(`${what} bears another time than ${by}, from which it follows`);
    return cause;
  };

  const onSkipped = ({ data, time }: TurnSkipped): void => {
    const { turnId, reason, lane } = data;
    if (reason !== 'too-late') outcomes.add(turnId);
    const wrong = (what: string) => tell(`${turnId} was skipped as ${reason}, ${what}`);
    const cause = causeOf(`the outcome of ${turnId}`, data, time);
    const answer = book.get(turnId);
    if (answer?.kind !== 'interaction.completed') return; // said where interactions are counted
    if (answer.lane !== lane) wrong(`in another lane than its interaction`);
    if (shown[reason]?.(answer) === false) wrong('which its interaction contradicts');
    if (cause === undefined) return;
    if (atEnd.includes(reason)) {
      if (cause.kind !== 'session.ended') wrong(`and ${cause.id} ended no session`);
      else if ((cause.data.discard ?? false) !== (reason === 'discarded'))
        wrong(`and ${cause.id} ${cause.data.discard ? 'discarded' : 'kept'} its session`);
    } else if (reason === 'deleted' || reason === 'withdrawn') {
      if (cause.id !== turnId && !takesBack(cause, turnId)) wrong(`and ${cause.id} took back another answer`);
    } else if (reason === 'superseded' || reason === 'record-gone') {
      if (cause.kind !== 'interaction.completed' && cause.kind !== 'session.ended')
        wrong(`and ${cause.id} is a ${cause.kind}`);
    } else if (cause.id !== turnId) wrong(`and not by itself`);
  };

  const onCompleted = ({ data, time }: TurnCompleted): void => {
    outcomes.add(data.turnId);
    const cause = causeOf(`the turn of ${data.turnId}`, data, time);
    if (cause === undefined) return;
    // without a next state: by its feedback, which may have come first, or by another request in its place
    const isRated = cause.kind === 'feedback.given' && cause.data.interactionId === data.turnId;
    const holds =
      cause.kind === 'interaction.completed' ||
      (data.from === null && (cause.kind === 'session.ended' || isRated));
    if (!holds) tell(`the turn of ${data.turnId} was completed by ${data.by}, which is a ${cause.kind}`);
    if (cause.lane !== data.lane)
      tell(`the turn of ${data.turnId} was completed from another lane, by ${data.by}`);
  };

  const onWithdrawn = ({ data, time }: TurnWithdrawn): void => {
    withdrawn.add(data.turnId);
    const cause = causeOf(`the withdrawal of ${data.turnId}`, data, time);
    if (cause !== undefined && !takesBack(cause, data.turnId))
      tell(`${data.turnId} was withdrawn by ${cause.id}, which took back another answer`);
  };

  const on = ({ event }: Audited): void => {
    if (event.type === 'turn.skipped') onSkipped(event);
    else if (event.type === 'turn.completed') onCompleted(event);
    else if (event.type === 'turn.withdrawn') onWithdrawn(event);
  };

  /** What must have an outcome by now. */
  const finish = (): void => {
    for (const said of book.all()) {
      if (!said.counts) continue;
      const isTakenBack = said.kind === 'response.deleted' || said.kind === 'interaction.withdrawn';
      if (isTakenBack && !withdrawn.has(said.turnId) && !outcomes.has(said.turnId))
        tell(`${said.turnId} was taken back by ${said.id}, and neither skipped nor withdrawn`, 'turns');
      if (said.kind !== 'interaction.completed' || !said.live || outcomes.has(said.id)) continue;
      const reason = Object.entries(shown).find(([name, holds]) => name !== 'no-reward' && holds(said))?.[0];
      if (reason !== undefined || said.turnType === 'side')
        tell(`${said.id} has no outcome, although it is ${reason ?? 'a side request'}`, 'turns');
    }
  };
  return { on, finish };
}
