import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { defined } from '../../shared/lang/defined.ts';
import { shortHash } from '../../shared/lang/short-hash.ts';
import {
  answerText,
  type Conversation,
  hashOfAnswer,
  readConversation,
  summaryLines,
} from './conversation.ts';
import { disagreementOf } from './disagreement.ts';
import { noteFirst } from './edited-first.ts';
import { enterSession } from './enter-session.ts';
import type { AttributeSettings } from './fold-settings.ts';
import type { LaneTables, OpenTurn, PendingFeedback, SessionRow } from './lane-tables.ts';
import { isMainUnderNewSystem, noteAnswer, noteMainLine, noteSession } from './main-line.ts';
import { completeIfOvertaken, completeRefusedAnswers, readNextStates } from './next-state.ts';
import { addNode } from './reward-nodes.ts';
import { findSession, hasSystem, noteSystem } from './session.ts';
import { type SkipReason, skipReason } from './skip-reason.ts';
import {
  type Cause,
  completeEarly,
  emitSkipped,
  openTurn,
  releaseFeedback,
  skipTurn,
} from './turn-outcome.ts';
import { classifyTurn } from './turn-type.ts';

/** The settings of the fold. */
type Rules = Required<Omit<AttributeSettings, 'turnDiscount' | 'keepsDeletions' | 'lastAnswerAlone'>>;

/** An answered request, with everything that the steps read from its record alone. */
type Request = {
  readonly event: InteractionCompleted;
  readonly id: string;
  readonly data: InteractionCompleted['data'];
  /** ms since 1970 */
  readonly time: number;
  readonly conversation: Conversation;
  readonly isProgramReward: boolean;
};

type Placed = ReturnType<typeof place>;
type Classified = ReturnType<typeof classify>;

/**
 * One answered request becomes a turn. Three steps find out and record what it is: `place` finds its session,
 * `classify` its turn type, and `remember` stores what later requests are compared with. The turn then stays
 * open until its next state is known, or is skipped at once for a named reason.
 */
export function onInteraction(cause: Cause, event: InteractionCompleted, rules: Rules): void {
  const request = readRequest(event, rules);
  const { id, data, time, conversation } = request;
  const placed = place(cause, request);
  const classified = classify(cause, request, placed);
  const { type, rule } = classified;
  const { isDeleted, feedback } = takeEarlyEvents(cause.tables, id);
  const skip = isDeleted ? { reason: 'deleted' as const, rule } : skipReason({ data, type, turnRule: rule });

  const { match } = placed;
  const isMain = type === 'main' && !data.tooLarge;
  const timerSession =
    type === 'side' && isTimer(conversation) ? knownSession(cause, match?.session) : undefined;
  if ((match === undefined && !isMain) || timerSession?.open === false) {
    cause.tables.turns.set(id, { status: 'done', time }); // without a session the id is kept for a day
    const closed = timerSession && { session: match!.session, epoch: timerSession.epoch };
    const why = { reason: skip?.reason ?? 'side', rule: skip?.rule ?? rule, ...classified.disagreement };
    if (data.live) emitSkipped(cause, { turnId: id, ...closed, ...why });
    releaseFeedback(cause, id, feedback);
    return;
  }

  const { session, by: sessionBy } = match ?? { session: `chat-${id}`, by: 'new' };
  const { epoch } = timerSession ?? enterSession(cause, event, session, rules.tellsOpened);
  const { replacesAnswer } = remember(cause, request, session, {
    search: placed.search,
    isMain,
    rule,
    isDeleted,
    rules,
  });
  if (!data.live) {
    cause.tables.turns.set(id, { status: 'done', session, time });
    releaseFeedback(cause, id, feedback);
    return;
  }
  const attribution = { session, epoch, sessionBy };
  startTurn(cause, request, {
    attribution,
    classified,
    skip,
    feedback,
    replacesAnswer,
    rules,
  });
}

function readRequest(event: InteractionCompleted, { clients, rewardedAreMain }: Rules): Request {
  const { id, data } = event;
  const conversation = readConversation(event, clients);
  // A record that is too large has no text, so its place among the others is unknown.
  const isProgramReward = rewardedAreMain && data.settle === 'reward' && !data.tooLarge;
  return { event, id, data, time: Date.parse(event.time), conversation, isProgramReward };
}

/** Finds the session of a request; `match` is undefined if the request begins one. */
function place({ tables, clients }: Cause, { data, time, conversation, isProgramReward }: Request) {
  const asked = { explicit: data.turnType, conversation, isProgramReward };
  const byText = classifyTurn({ ...asked, isOtherSystem: false, answersMainCalls: false });
  const isSide = byText.type === 'side';
  const search = { tables, data, conversation, isSide, clients, time };
  return { search, match: findSession(search) };
}

/** Decides between main and side turn, now that the session is known. */
function classify(
  { tables, clients }: Cause,
  { data, conversation, isProgramReward }: Request,
  { search, match }: Placed,
) {
  const row = match && tables.sessions.get(match.session);
  const last = conversation.answers.at(-1);
  const view = {
    explicit: data.turnType,
    conversation,
    isProgramReward,
    isOtherSystem:
      row !== undefined &&
      row.system !== null &&
      !hasSystem(row, conversation.systemSketch) &&
      !(clients && isMainUnderNewSystem(tables, match!.session, row, { data, conversation })),
    answersMainCalls:
      conversation.answersCalls && last !== undefined && tables.known.get(last.full) === match?.session,
  };
  const { type, rule } = classifyTurn(view);
  return { type, rule, disagreement: defined({ disagreement: disagreementOf(search, view, type) }) };
}

/** Stores what later requests of the session are recognised by, and completes earlier turns. */
function remember(
  cause: Cause,
  { event, data, conversation }: Request,
  session: string,
  options: Pick<Placed, 'search'> & {
    readonly isMain: boolean;
    readonly rule: string;
    readonly isDeleted: boolean;
    readonly rules: Rules;
  },
): { readonly replacesAnswer: boolean } {
  const { tables } = cause;
  const { search, isMain, rule, isDeleted } = options;
  const { atOnce, firstEdits, clients, laterEdits } = options.rules;
  let replacesAnswer = false;
  if (isMain) {
    readNextStates(cause, session, conversation);
    if (clients) noteMainLine(tables, session, { data, conversation });
    if (atOnce && data.settle === 'votes')
      replacesAnswer = completeRefusedAnswers(cause, event, { session, conversation, laterEdits });
    indexRequest(cause, event, session, conversation);
    if (atOnce && firstEdits && !isDeleted) noteFirst(search, event, session);
    if (data.user !== undefined && tables.users.get(data.user) !== session)
      tables.users.set(data.user, session);
  } else if (rule === 'compaction') indexSummary(cause, event, session, conversation);
  if (clients && rule === 'other-system') tables.asides.set(conversation.full, session);
  return { replacesAnswer };
}

/** Opens the turn, or skips it at once. */
function startTurn(
  cause: Cause,
  { id, data, time, conversation, isProgramReward }: Request,
  {
    attribution,
    classified: { type, rule, disagreement },
    skip,
    feedback,
    replacesAnswer,
    rules: { atOnce, namesVersion },
  }: {
    readonly attribution: Pick<OpenTurn, 'session' | 'epoch' | 'sessionBy'>;
    readonly classified: Classified;
    readonly skip: { readonly reason: SkipReason; readonly rule: string } | undefined;
    readonly feedback: readonly PendingFeedback[];
    readonly replacesAnswer: boolean;
    readonly rules: Rules;
  },
): void {
  const { tables } = cause;
  const { session, epoch, sessionBy } = attribution;
  const { settle } = data;
  const answer = hashOfAnswer(data.answer);
  const byReward = settle === 'reward';
  if (byReward)
    addNode(tables, session, id, {
      conversation,
      order: cause.at.offset,
      main: type === 'main',
      aborted: skip?.reason === 'aborted',
      feedback,
      ...defined({ answer, system: isProgramReward ? shortHash(conversation.systemText) : undefined }),
    });
  const turn: OpenTurn = {
    status: 'open',
    session,
    epoch,
    prompt: conversation.prompt,
    full: conversation.full,
    ...defined({ spoken: conversation.place.spoken, answer }),
    at: cause.at,
    settle,
    rule,
    sessionBy,
    ...disagreement,
    feedback: byReward ? [] : feedback,
    ...defined({ time: atOnce ? time : undefined, preferred: replacesAnswer ? true : undefined }),
  };
  if (skip !== undefined) {
    const isFault = namesVersion && !byReward && (skip.reason === 'truncated' || skip.reason === 'empty');
    const { adapter, version, key } = data;
    skipTurn(cause, id, turn, {
      ...skip,
      ...defined({ answered: isFault ? { adapter, version, key } : undefined }),
    });
    return;
  }
  openTurn(cause, id, turn);
  completeIfOvertaken(cause, id, turn);
  const current = tables.turns.get(id);
  if (atOnce && current?.status === 'open' && current.feedback.length > 0) completeEarly(cause, id, current);
}

/** Takes the deletion and the feedback that arrived before the interaction. */
function takeEarlyEvents({ deleted, early }: LaneTables, id: string) {
  const isDeleted = deleted.get(id) !== undefined;
  if (isDeleted) deleted.delete(id);
  const feedback = early.get(id) ?? [];
  if (feedback.length > 0) early.delete(id);
  return { isDeleted, feedback };
}

/**
 * A heartbeat arrives every half hour, whether or not a person is present. A client's timers therefore neither keep a
 * session open nor reopen one.
 */
const isTimer = ({ latestKind, runtime }: Conversation): boolean =>
  ['heartbeat', 'cron'].includes(latestKind ?? runtime.kind ?? '');

const knownSession = ({ tables }: Cause, session: string | undefined): SessionRow | undefined =>
  session === undefined ? undefined : tables.sessions.get(session);

/** Lets later requests find a conversation that begins with this summary of its history. */
function indexSummary(
  { tables, clients }: Cause,
  { data }: InteractionCompleted,
  session: string,
  { traceId }: Conversation,
): void {
  const lines = summaryLines(answerText(data));
  if (lines[0] !== undefined) tables.summaries.set(lines[0], session);
  if (clients) {
    for (const line of lines) noteSession(tables.summed, line, session);
    noteAnswer(tables, session, data.answer);
  }
  // A long history is summarised in parts, some of which contain no words of the conversation.
  if (traceId !== undefined && tables.traces.get(traceId) !== session) tables.traces.set(traceId, session);
}

/** Lets later requests find this conversation. */
function indexRequest(
  { tables, clients }: Cause,
  event: InteractionCompleted,
  session: string,
  conversation: Conversation,
): void {
  const { prompt, full, place, answers, systemSketch, traceId, latestWords, latestKind } = conversation;
  const isFirst =
    answers.length === 0 || (clients && !answers.some((answer) => tables.known.get(answer.full)));
  tables.known.set(full, session);
  if (place.spoken !== undefined && tables.known.get(place.spoken) === undefined)
    tables.known.set(place.spoken, session);
  if (isFirst) tables.firstPrompts.set(prompt, { session, time: Date.parse(event.time) });
  if (traceId !== undefined && tables.traces.get(traceId) !== session) tables.traces.set(traceId, session);
  const personWords = latestKind === undefined ? [latestWords] : [];
  for (const text of [...personWords, answerText(event.data)]) {
    const [line] = summaryLines(text);
    if (line !== undefined) noteSession(tables.said, line, session);
  }
  noteSystem(tables, session, systemSketch);
}
