import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { tellAskedAgain } from './asked-again.ts';
import type { AttributeSettings } from './attribute.ts';
import {
  answerText,
  type Conversation,
  hashOfAnswer,
  readConversation,
  shortHash,
  summaryLines,
} from './conversation.ts';
import { disagreementOf } from './disagreement.ts';
import { noteFirst } from './edited-first.ts';
import { enterSession } from './enter-session.ts';
import type { OpenTurn, SessionRow } from './lane-tables.ts';
import { hasNewSystem, noteAnswer, noteIn, noteMainLine } from './main-line.ts';
import { completeIfOvertaken, readNextStates } from './next-state.ts';
import { addNode } from './reward-nodes.ts';
import { findSession, hasSystem, noteSystem } from './session.ts';
import { skipReason } from './skip-reason.ts';
import {
  type Cause,
  completeEarly,
  openTurn,
  releaseFeedback,
  skipTurn,
  tellSkipped,
} from './turn-outcome.ts';
import { classifyTurn } from './turn-type.ts';

/** As in the settings of the fold. */
type Rules = Required<Omit<AttributeSettings, 'turnDiscount'>>;

/**
 * One answered request becomes a turn: open until its next state is known, or skipped at once for a named
 * reason.
 */
export function onInteraction(
  cause: Cause,
  event: InteractionCompleted,
  { atOnce, firstEdits, clients, rewardedAreMain, tellsOpened }: Rules,
): void {
  const { mine } = cause;
  const { id, data } = event;
  const time = Date.parse(event.time);
  const conversation = readConversation(event, clients);
  // one that is too large has no words, so no place among the others
  const isOfProgram = rewardedAreMain && data.settle === 'reward' && !data.tooLarge;
  const { search, found, type, rule, disagreement } = classify(cause, event, conversation, isOfProgram);
  const isDeleted = mine.deleted.get(id) !== undefined;
  if (isDeleted) mine.deleted.delete(id);
  const skip = isDeleted ? { reason: 'deleted' as const, rule } : skipReason({ data, type, turnRule: rule });
  const feedback = mine.early.get(id) ?? [];
  if (feedback.length > 0) mine.early.delete(id);

  const isMain = type === 'main' && !data.tooLarge;
  const rested = type === 'side' && isTimer(conversation) ? knownSession(cause, found?.session) : undefined;
  if ((found === undefined && !isMain) || rested?.open === false) {
    mine.turns.set(id, { status: 'done', time }); // of no session's: it is remembered for a day of its own
    const place = rested === undefined ? {} : { session: found!.session, epoch: rested.epoch };
    const why = { reason: skip?.reason ?? 'side', rule: skip?.rule ?? rule, ...disagreement } as const;
    if (data.live) tellSkipped(cause, { turnId: id, ...place, ...why });
    releaseFeedback(cause, id, feedback);
    return;
  }

  const { session, by: sessionBy } = found ?? { session: `chat-${id}`, by: 'new' };
  let askedAgain = false;
  const { epoch } = rested ?? enterSession(cause, event, session, tellsOpened);
  if (isMain) {
    readNextStates(cause, session, conversation);
    if (clients) noteMainLine(mine, session, { data, conversation });
    if (atOnce && data.settle === 'votes') askedAgain = tellAskedAgain(cause, event, session, conversation);
    index(cause, event, session, conversation);
    if (atOnce && firstEdits && !isDeleted) noteFirst(search, event, session);
    if (data.user !== undefined && mine.users.get(data.user) !== session) mine.users.set(data.user, session);
  } else if (rule === 'compaction') indexSummary(cause, event, session, conversation);
  if (clients && rule === 'other-system') mine.asides.set(conversation.full, session);
  if (!data.live) {
    mine.turns.set(id, { status: 'done', session, time });
    releaseFeedback(cause, id, feedback);
    return;
  }
  const { prompt, full, place } = conversation;
  const { settle } = data;
  const answer = hashOfAnswer(data.answer);
  const byReward = settle === 'reward';
  if (byReward)
    addNode(mine, session, id, conversation, {
      ...{ order: cause.at.offset, main: type === 'main', aborted: skip?.reason === 'aborted', feedback },
      ...(answer === undefined ? {} : { answer }),
      ...(isOfProgram ? { system: shortHash(conversation.systemText) } : {}),
    });
  const turn: OpenTurn = {
    status: 'open',
    session,
    epoch,
    prompt,
    full,
    ...(place.spoken === undefined ? {} : { spoken: place.spoken }),
    ...(answer === undefined ? {} : { answer }),
    at: cause.at,
    settle,
    rule,
    sessionBy,
    ...disagreement,
    feedback: byReward ? [] : feedback,
    ...(atOnce ? { time } : {}),
    ...(askedAgain ? { preferred: true } : {}),
  };
  if (skip === undefined) {
    openTurn(cause, id, turn);
    completeIfOvertaken(cause, id, turn);
    const left = mine.turns.get(id);
    if (atOnce && left?.status === 'open' && left.feedback.length > 0) completeEarly(cause, id, left);
  } else skipTurn(cause, id, turn, skip.reason, skip.rule);
}

/** Which session a request belongs to, and whether to its main line. */
function classify(
  { mine, clients }: Cause,
  { data, time }: InteractionCompleted,
  conversation: Conversation,
  isOfProgram: boolean,
) {
  const asked = { explicit: data.turnType, conversation, isOfProgram };
  const byText = classifyTurn({ ...asked, isOtherSystem: false, answersMainCalls: false });
  const isSide = byText.type === 'side';
  const search = { mine, data, conversation, isSide, clients, time: Date.parse(time) };
  const found = findSession(search);
  const row = found && mine.sessions.get(found.session);
  const last = conversation.answers.at(-1);
  const view = {
    ...asked,
    isOtherSystem:
      row !== undefined &&
      row.system !== null &&
      !hasSystem(row, conversation.systemSketch) &&
      !(clients && hasNewSystem(mine, found!.session, row, { data, conversation })),
    answersMainCalls:
      conversation.answersCalls && last !== undefined && mine.known.get(last.full) === found?.session,
  };
  const { type, rule } = classifyTurn(view);
  const disagreement = disagreementOf(search, view, type);
  return { search, found, type, rule, disagreement: disagreement === undefined ? {} : { disagreement } };
}

/**
 * A heartbeat comes every half hour, whether anybody is there or not: the timers of a client keep no session
 * open, and open none again.
 */
const isTimer = ({ latestKind, runtime }: Conversation): boolean =>
  ['heartbeat', 'cron'].includes(latestKind ?? runtime.kind ?? '');

const knownSession = ({ mine }: Cause, session: string | undefined): SessionRow | undefined =>
  session === undefined ? undefined : mine.sessions.get(session);

/** By what a conversation is found that begins with the summary of its history. */
function indexSummary(
  { mine, clients }: Cause,
  { data }: InteractionCompleted,
  session: string,
  { traceId }: Conversation,
): void {
  const lines = summaryLines(answerText(data));
  if (lines[0] !== undefined) mine.summaries.set(lines[0], session);
  if (clients) {
    for (const line of lines) noteIn(mine.summed, line, session);
    noteAnswer(mine, session, data.answer);
  }
  // a long history is summarised in parts, some of which hold nobody's words
  if (traceId !== undefined && mine.traces.get(traceId) !== session) mine.traces.set(traceId, session);
}

/** By what later requests find this conversation. */
function index(
  { mine, clients }: Cause,
  event: InteractionCompleted,
  session: string,
  conversation: Conversation,
): void {
  const { prompt, full, place, answers, systemSketch, traceId, latestWords, latestKind } = conversation;
  const begins = answers.length === 0 || (clients && !answers.some((one) => mine.known.get(one.full)));
  mine.known.set(full, session);
  if (place.spoken !== undefined && mine.known.get(place.spoken) === undefined)
    mine.known.set(place.spoken, session);
  if (begins) mine.firstPrompts.set(prompt, { session, time: Date.parse(event.time) });
  if (traceId !== undefined && mine.traces.get(traceId) !== session) mine.traces.set(traceId, session);
  const spokenOf = latestKind === undefined ? [latestWords] : [];
  for (const text of [...spokenOf, answerText(event.data)]) {
    const [line] = summaryLines(text);
    if (line !== undefined) noteIn(mine.said, line, session);
  }
  noteSystem(mine, session, systemSketch);
}
