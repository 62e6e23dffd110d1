import type { TreePlace } from '../../shared/chat/conversation-tree.ts';
import type { Disagreement } from '../../shared/events/disagreement.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Position } from '../../shared/events/position.ts';
import type { EventClock } from '../../shared/log/event-clock.ts';
import type { Draft } from '../../shared/log/rows.ts';
import type { WordNumbers } from './first-words.ts';
import type { SystemSketch } from './system-sketch.ts';

/** Feedback that waits for its turn to be told. */
export type HeldFeedback = {
  /** id of feedback.given */
  readonly given: string;
  readonly score: number;
  readonly advantage?: number;
  readonly comment?: string;
  /** no answer was named, but the last one meant */
  readonly last?: true;
  /** where feedback.given stands */
  readonly order: number;
  /** ms since 1970, of feedback.given */
  readonly time: number;
};

/** One interaction: a turn whose outcome is not known yet. */
export type OpenTurn = {
  readonly status: 'open';
  readonly session: string;
  readonly epoch: string;
  /** rolling hash before the answer, and after it */
  readonly prompt: string;
  readonly full: string;
  /** as in TreePlace */
  readonly spoken?: string;
  /** hash of the answer alone; absent where it is too short, and in rows of earlier programs */
  readonly answer?: string;
  /** of its record in `conversations` */
  readonly at: Position;
  readonly settle: InteractionCompleted['data']['settle'];
  readonly rule: string;
  readonly sessionBy: string;
  readonly disagreement?: Disagreement;
  readonly feedback: readonly HeldFeedback[];
  /** ms since 1970, when its answer was whole; absent in rows of earlier programs */
  readonly time?: number;
  /** its outcome is told already, by feedback or by what the person did: only its next state is waited for */
  readonly told?: 'feedback' | 'implied';
  /** other answers to its request were asked for before it, one after the other */
  readonly preferred?: true;
};

/** Its outcome is told, or (pinned versions) it never has one. The row is the memory of its id. */
export type DoneTurn = {
  readonly status: 'done';
  /** absent: a side request of no known session */
  readonly session?: string;
  /** ms since 1970, of the interaction */
  readonly time: number;
};

/**
 * An interaction of a session that is settled by reward, until the session ends: where it stands in the
 * conversation tree, and the reward that was set on it last.
 */
export type NodeRow = TreePlace & {
  /** of arrival */
  readonly order: number;
  /** rolling hash before the answer */
  readonly prompt: string;
  /** hash of the system text; absent where agents are not told apart, and in rows of earlier programs */
  readonly system?: string;
  /** hash of the answer alone, and of the last answer in a history whose beginning was cut off */
  readonly answer?: string;
  readonly cut?: string;
  readonly main: boolean;
  /** cut off by its client or an error: no attempt, unless it was rewarded or gone on from */
  readonly aborted: boolean;
  /** its next state was shown */
  readonly continued: boolean;
  readonly reward?: HeldFeedback;
};

/** A session stays open until it is ended; what comes later begins a new epoch, named by that event's id. */
export type SessionRow = {
  readonly open: boolean;
  readonly epoch: string;
  /** id of the last event that belongs to it */
  readonly last: string;
  readonly closedAt: number | null;
  readonly openTurns: readonly string[];
  /** absent: by votes */
  readonly settle?: 'reward';
  /** of the main line's system text in this epoch; null until a main turn came */
  readonly system: SystemSketch | null;
  /** those that it had before, latest last: agents that hand a conversation over have a system text each */
  readonly earlierSystems?: readonly SystemSketch[];
  /** hash of the tools' names of its latest main request; absent: it has none */
  readonly tools?: string;
  /** its main line went on from an answer, or waits for what calls give */
  readonly goesOn?: true;
};

/** What came after an answer, by the answer's rolling hash. `used`: a turn was completed by it. */
export type NextRow = {
  /** the interaction that showed it, and its record */
  readonly from: string;
  readonly at: Position;
  /** indices into its messages: [start, end) */
  readonly start: number;
  readonly end: number;
  /** rolling hash after it */
  readonly after: string;
  readonly used: boolean;
};

/** `time`: ms since 1970, of the latest such request. */
export type FirstPrompt = { readonly session: string; readonly time: number };

/**
 * `first-request/<key>/latest`: the latest first requests of a key, by which an edit of one is told, without their
 * text.
 */
export type FirstRequest = {
  /** of its turn */
  readonly id: string;
  readonly session: string;
  /** its client named the session */
  readonly named: boolean;
  readonly user?: string;
  /** rolling hash before the answer */
  readonly prompt: string;
  /** ms since 1970, when its answer was whole */
  readonly time: number;
  readonly words: WordNumbers;
  /** how its answer begins; []: with no words, or it made calls */
  readonly head: WordNumbers;
  readonly system: SystemSketch;
  /** hash of model, tools and sampling */
  readonly client: string;
  /** how often the person had changed it before */
  readonly edits: number;
};

/** `lane/now` */
export type LaneRow = EventClock;

/** Session names are any text; encoded, no name can reach into another's rows. Half a surrogate pair has no code. */
export const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The rows of one lane, split by access key: lanes are short hashes, and two keys' lanes may collide. */
export function laneTables(draft: Draft, key: string) {
  const mine = encoded(key);
  return {
    turns: draft.table<OpenTurn | DoneTurn>(`turn/${mine}`),
    sessions: draft.table<SessionRow>(`session/${mine}`),
    /** ids of feedback and of session events, with their times; a turn's row is the memory of its own id */
    seen: draft.table<number>(`seen/${mine}`),
    /** responses that were deleted and whose interactions have not come, with the times of that */
    deleted: draft.table<number>(`deleted/${mine}`),
    /** feedback for interactions that have not come yet */
    early: draft.table<readonly HeldFeedback[]>(`early/${mine}`),
    /** rolling hash after an answer -> session */
    known: draft.table<string>(`known/${mine}`),
    /** the same of answers that only stood in histories so far: their record may still come, or they are of somebody else */
    shown: draft.table<string>(`shown/${mine}`),
    /** hash of an answer alone -> sessions whose main line holds it; two: it tells nothing */
    answers: draft.table<readonly string[]>(`answered/${mine}`),
    /** rolling hash after an answer under a system text that is not the session's -> session */
    asides: draft.table<string>(`aside/${mine}`),
    /** by rolling hash of a conversation's first request, until it goes on */
    firstPrompts: draft.table<FirstPrompt>(`first-prompt/${mine}`),
    /** under one name, latest last */
    firstRequests: draft.table<readonly FirstRequest[]>(`first-request/${mine}`),
    /** hash of a compaction's summary -> session */
    summaries: draft.table<string>(`summary/${mine}`),
    /** hash of a line of any program's summary -> sessions; two: it tells nothing, as a heading does not */
    summed: draft.table<readonly string[]>(`summed/${mine}`),
    /** hash of a line that a person or the model said -> sessions; two: it tells nothing */
    said: draft.table<readonly string[]>(`said/${mine}`),
    /** W3C trace id -> session */
    traces: draft.table<string>(`trace/${mine}`),
    /** the client's name of a person -> the session of their latest main request */
    users: draft.table<string>(`user/${mine}`),
    /** inside a session, open turns by rolling hash: after the answer, and before it */
    openByAnswer: (session: string) => draft.table<readonly string[]>(`answer/${mine}/${encoded(session)}`),
    openByPrompt: (session: string) => draft.table<readonly string[]>(`prompt/${mine}/${encoded(session)}`),
    /** of a session that is settled by reward: its interactions, and the hashes after main answers */
    nodes: (session: string) => draft.table<NodeRow>(`node/${mine}/${encoded(session)}`),
    nodeAt: (session: string) => draft.table<true>(`node-at/${mine}/${encoded(session)}`),
    next: (session: string) => draft.table<NextRow>(`next/${mine}/${encoded(session)}`),
  };
}
export type LaneTables = ReturnType<typeof laneTables>;

export const laneTable = (draft: Draft) => draft.table<LaneRow>('lane');
