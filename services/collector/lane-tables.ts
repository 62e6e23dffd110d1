import type { TreePlace } from '../../shared/chat/conversation-tree.ts';
import type { Disagreement } from '../../shared/events/disagreement.ts';
import type { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Position } from '../../shared/events/position.ts';
import type { ProcessTerms } from '../../shared/events/process-terms.ts';
import type { EventClock } from '../../shared/log/event-clock.ts';
import type { Draft } from '../../shared/log/rows.ts';
import type { WordNumbers } from './first-words.ts';
import type { SystemSketch } from './system-sketch.ts';

/** Feedback that is emitted after its turn. */
export type PendingFeedback = {
  /** id of feedback.given */
  readonly given: string;
  readonly score: number;
  readonly advantage?: number;
  readonly comment?: string;
  /** all steps of its session, compared with those of other attempts; order: as below, of the list */
  readonly steps?: {
    readonly order: number;
    readonly list: NonNullable<FeedbackGiven['data']['steps']>;
  };
  /** the client named no answer, so the last one is meant */
  readonly last?: true;
  /** offset of feedback.given */
  readonly order: number;
  /** ms since 1970, of feedback.given */
  readonly time: number;
};

/** A turn whose outcome is not known yet. */
export type OpenTurn = {
  readonly status: 'open';
  readonly session: string;
  readonly epoch: string;
  /** rolling hash before the answer, and after it */
  readonly prompt: string;
  readonly full: string;
  /** as in TreePlace */
  readonly spoken?: string;
  /** hash of the answer alone; absent if it is too short, and in rows of earlier programs */
  readonly answer?: string;
  /** position of its record in `conversations` */
  readonly at: Position;
  readonly settle: InteractionCompleted['data']['settle'];
  readonly rule: string;
  readonly sessionBy: string;
  readonly disagreement?: Disagreement;
  readonly feedback: readonly PendingFeedback[];
  /** ms since 1970, when its answer was complete; absent in rows of earlier programs */
  readonly time?: number;
  /** its outcome is already emitted, by feedback or an action of the person; only its next state is open */
  readonly told?: 'feedback' | 'implied';
  /** the person asked for this answer to replace earlier ones to the same request */
  readonly preferred?: true;
};

/** A turn whose outcome is emitted, or which has none (pinned versions). The row keeps its id known. */
type DoneTurn = {
  readonly status: 'done';
  /** absent: a side request without a known session */
  readonly session?: string;
  /** time of the interaction, ms since 1970 */
  readonly time: number;
};

/**
 * An interaction of a session that is settled by reward, kept until the session ends: its place in the
 * conversation tree, and the latest reward set on it.
 */
export type NodeRow = TreePlace & {
  /** order of arrival */
  readonly order: number;
  /** rolling hash before the answer */
  readonly prompt: string;
  /** hash of the system text; absent if agents are not distinguished, and in rows of earlier programs */
  readonly system?: string;
  /** hash of the answer alone, and of the last answer in a history with its beginning cut off */
  readonly answer?: string;
  readonly cut?: string;
  readonly main: boolean;
  /** cut off by its client or an error: not an attempt, unless it was rewarded or continued */
  readonly aborted: boolean;
  /** its next state was shown */
  readonly continued: boolean;
  readonly reward?: PendingFeedback;
};

/** A session stays open until it is ended. A later event begins a new epoch, named by that event's id. */
export type SessionRow = {
  readonly open: boolean;
  readonly epoch: string;
  /** id of the last event that belongs to it */
  readonly last: string;
  readonly closedAt: number | null;
  readonly openTurns: readonly string[];
  /** absent: settled by votes */
  readonly settle?: 'reward';
  /** how its steps are voted on; absent: they are not */
  readonly process?: ProcessTerms;
  /** how its samples weigh; absent: each as one */
  readonly weigh?: 'attempt';
  /** the main line's system text in this epoch; null before the first main turn */
  readonly system: SystemSketch | null;
  /** earlier system texts, latest last: agents that hand a conversation over have one each */
  readonly earlierSystems?: readonly SystemSketch[];
  /** hash of the tools' names of its latest main request; absent: it has none */
  readonly tools?: string;
  /** its main line continued from an answer, or waits for tool results */
  readonly goesOn?: true;
};

/** The next state of an answer, by the answer's rolling hash. `used`: it completed a turn. */
export type NextRow = {
  /** the interaction whose request contains it, and the position of its record */
  readonly from: string;
  readonly at: Position;
  /** indices into its messages: [start, end) */
  readonly start: number;
  readonly end: number;
  /** rolling hash after the next state */
  readonly after: string;
  /** the same after the latest change of the request; absent: it was not changed */
  readonly latest?: string;
  readonly used: boolean;
};

/** `time`: of the latest such request, ms since 1970. */
export type FirstPrompt = { readonly session: string; readonly time: number };

/**
 * `first-request/<key>/latest`: the latest first requests of a key, without their text, for recognising edits.
 */
export type FirstRequest = {
  /** id of its turn */
  readonly id: string;
  readonly session: string;
  /** the client named the session */
  readonly named: boolean;
  readonly user?: string;
  /** rolling hash before the answer */
  readonly prompt: string;
  /** ms since 1970, when its answer was complete */
  readonly time: number;
  readonly words: WordNumbers;
  /** beginning of its answer; []: no words, or tool calls */
  readonly head: WordNumbers;
  readonly system: SystemSketch;
  /** hash of model, tools and sampling */
  readonly client: string;
  /** how often the person had already edited it */
  readonly edits: number;
};

/** `lane/now` */
export type LaneRow = EventClock;

/** Encodes a session name, which is any text, so that no name can reach into another's rows. */
export const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The rows of one lane and access key. Lanes are short hashes, so the lanes of two keys may collide. */
export function laneTables(draft: Draft, key: string) {
  const prefix = encoded(key);
  return {
    turns: draft.table<OpenTurn | DoneTurn>(`turn/${prefix}`),
    sessions: draft.table<SessionRow>(`session/${prefix}`),
    /** ids of feedback and session events, with their times; a turn's own row keeps its id */
    seen: draft.table<number>(`seen/${prefix}`),
    /** deleted responses whose interactions have not arrived, with the deletion times */
    deleted: draft.table<number>(`deleted/${prefix}`),
    /** feedback for interactions that have not arrived */
    early: draft.table<readonly PendingFeedback[]>(`early/${prefix}`),
    /** rolling hash after an answer -> session */
    known: draft.table<string>(`known/${prefix}`),
    /** the same for answers seen only in histories: their record may still arrive, or they belong to another client */
    shown: draft.table<string>(`shown/${prefix}`),
    /** hash of an answer alone -> sessions whose main line contains it; two sessions: ambiguous */
    answers: draft.table<readonly string[]>(`answered/${prefix}`),
    /** rolling hash after an answer under a foreign system text -> session */
    asides: draft.table<string>(`aside/${prefix}`),
    /** by rolling hash of a conversation's first request, until the conversation continues */
    firstPrompts: draft.table<FirstPrompt>(`first-prompt/${prefix}`),
    /** all under one name, latest last */
    firstRequests: draft.table<readonly FirstRequest[]>(`first-request/${prefix}`),
    /** hash of a compaction's summary -> session */
    summaries: draft.table<string>(`summary/${prefix}`),
    /** hash of a line of any program's summary -> sessions; two sessions: ambiguous, for example a heading */
    summed: draft.table<readonly string[]>(`summed/${prefix}`),
    /** hash of a line by a person or the model -> sessions; two sessions: ambiguous */
    said: draft.table<readonly string[]>(`said/${prefix}`),
    /** W3C trace id -> session */
    traces: draft.table<string>(`trace/${prefix}`),
    /** the client's name of a person -> the session of their latest main request */
    users: draft.table<string>(`user/${prefix}`),
    /** open turns of a session by rolling hash: after the answer, and before it */
    openByAnswer: (session: string) => draft.table<readonly string[]>(`answer/${prefix}/${encoded(session)}`),
    openByPrompt: (session: string) => draft.table<readonly string[]>(`prompt/${prefix}/${encoded(session)}`),
    /** for a session settled by reward: its interactions, and the rolling hashes after main answers */
    nodes: (session: string) => draft.table<NodeRow>(`node/${prefix}/${encoded(session)}`),
    nodeAt: (session: string) => draft.table<true>(`node-at/${prefix}/${encoded(session)}`),
    next: (session: string) => draft.table<NextRow>(`next/${prefix}/${encoded(session)}`),
  };
}
export type LaneTables = ReturnType<typeof laneTables>;

export const laneTable = (draft: Draft) => draft.table<LaneRow>('lane');
