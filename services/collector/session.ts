import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { type Conversation, summarisedWords, summaryLines } from './conversation.ts';
import { editedFirst } from './edited-first.ts';
import type { LaneTables, SessionRow } from './lane-tables.ts';
import { isAlike, type SystemSketch } from './system-sketch.ts';

/** The same first words later than that, ms, begin another chat. */
const RETRY_MS = 600_000;
/**
 * A request with the words of a conversation's first one but another system text (a title) belongs to it for
 * so long, ms.
 */
const BESIDE_MS = 60_000;

export type FoundSession = {
  readonly session: string;
  readonly by: string;
};

export type Search = {
  readonly mine: LaneTables;
  readonly data: InteractionCompleted['data'];
  readonly conversation: Conversation;
  /** by its text alone it is a side request */
  readonly isSide: boolean;
  /** as in the settings of the fold */
  readonly clients: boolean;
  /** ms since 1970 */
  readonly time: number;
};
type Way = {
  readonly by: string;
  readonly about: string;
  readonly find: (search: Search) => string | undefined;
};

/** First one that finds a session wins; the order is the specification. */
export const sessionWays: readonly Way[] = [
  { by: 'explicit', about: 'the client named it', find: ({ data }) => data.session },
  {
    by: 'runtime',
    about: "OpenClaw's `Runtime:` line names it",
    find: ({ conversation }) => conversation.runtime.session,
  },
  {
    by: 'history',
    about: 'the longest known conversation that the messages extend',
    find: ({ mine, conversation }) => {
      for (const { full } of conversation.answers.toReversed()) {
        const session = mine.known.get(full);
        if (session !== undefined) return session;
      }
      return undefined;
    },
  },
  {
    by: 'continued',
    about: 'a conversation that came earlier holds this very answer',
    find: ({ mine, conversation }) => mine.known.get(conversation.full) ?? mine.shown.get(conversation.full),
  },
  {
    by: 'prompt',
    about: 'the same first request, tried again before its conversation went on, or asked beside it',
    find: ({ mine, conversation, time, isSide, clients }) => {
      const first = mine.firstPrompts.get(conversation.prompt);
      const row = first && mine.sessions.get(first.session);
      if (first === undefined || !row?.open) return undefined;
      const isSame = row.system === null || hasSystem(row, conversation.systemSketch);
      if (clients && !isSame && !isSide) return undefined; // other people's, or another program's
      return Math.abs(time - first.time) < (isSame ? RETRY_MS : BESIDE_MS) ? first.session : undefined;
    },
  },
  {
    by: 'edited',
    about: 'the same first request, to which a person added something before its conversation went on',
    find: ({ mine, data, conversation, isSide }) =>
      isSide ? undefined : editedFirst({ mine, data, conversation })?.session,
  },
  {
    by: 'summary',
    about: "it begins with the summary that a compaction made of the session's history",
    find: ({ mine, clients, conversation: { summary } }) => {
      for (const line of summary === undefined ? [] : summaryLines(summary)) {
        const places = mine.summed.get(line) ?? [];
        const session = clients ? places.length === 1 && places[0] : mine.summaries.get(line);
        if (session) return session;
      }
      return undefined;
    },
  },
  {
    by: 'answer',
    about:
      'its history holds an answer that was given in that session and nowhere else, whatever stands before it',
    find: ({ mine, conversation: { answersAlone } }) => {
      const places = answersAlone.map((answer) => mine.answers.get(answer) ?? []);
      const session = places.find(({ length }) => length === 1)?.[0];
      return session !== undefined && mine.sessions.get(session)?.open ? session : undefined;
    },
  },
  {
    by: 'trace',
    about: "a side request with the W3C trace id of one of the session's requests",
    find: ({ mine, isSide, conversation: { traceId } }) =>
      isSide && traceId ? mine.traces.get(traceId) : undefined,
  },
  {
    by: 'said',
    about: 'it asks for a summary or a recap of what was said there, and nowhere else',
    find: ({ mine, isSide, conversation: { latestWords } }) => {
      if (!isSide) return undefined;
      const places = summarisedWords(latestWords).map((line) => mine.said.get(line) ?? []);
      return places.find(({ length }) => length === 1)?.[0];
    },
  },
  {
    by: 'user',
    about: 'its history is not known, and the same `user` spoke there last, under a system text like its own',
    find: ({ mine, data, conversation: { answers, systemSketch } }) => {
      if (data.user === undefined || answers.length === 0) return undefined;
      const session = mine.users.get(data.user);
      const row = session === undefined ? undefined : mine.sessions.get(session);
      return row?.open && hasSystem(row, systemSketch) ? session : undefined;
    },
  },
];

/** The session of a request, or undefined when it begins one. */
export function findSession(search: Search): FoundSession | undefined {
  if (search.data.tooLarge && search.data.session === undefined) return undefined; // it has no text to go by
  for (const { by, find } of sessionWays) {
    const session = find(search);
    if (session !== undefined) return { session, by };
  }
  return undefined;
}

/**
 * A session that goes on after its end is the same session in a new epoch, named by the epoch's first event.
 */
export function touchSession(mine: LaneTables, name: string, event: ClawLoopEvent): SessionRow {
  const before = mine.sessions.get(name);
  const settle = 'settle' in event.data && event.data.settle === 'reward' ? event.data.settle : undefined;
  const row: SessionRow = before?.open
    ? { ...before, ...(settle && { settle }), last: event.id }
    : {
        ...(settle && { settle }),
        open: true,
        epoch: event.id,
        last: event.id,
        closedAt: null,
        openTurns: [],
        system: null,
      };
  mine.sessions.set(name, row);
  return row;
}

/** Whether a session's main line has, or had, such a system text. */
export const hasSystem = (row: SessionRow, sketch: SystemSketch): boolean =>
  [row.system, ...(row.earlierSystems ?? [])].some((one) => one !== null && isAlike(one, sketch));

/** Agents of one conversation whose system texts are remembered, besides the latest. */
const EARLIER = 8;

export function noteSystem(mine: LaneTables, name: string, system: SystemSketch): void {
  const row = mine.sessions.get(name);
  if (row === undefined) return;
  const isNew = row.system !== null && !isAlike(row.system, system);
  const others = (row.earlierSystems ?? []).filter((one) => !isAlike(one, system));
  const earlier = isNew ? { earlierSystems: [...others, row.system!].slice(-EARLIER) } : {};
  mine.sessions.set(name, { ...row, ...earlier, system });
}

export function updateSession(mine: LaneTables, name: string, change: Partial<SessionRow>): void {
  const row = mine.sessions.get(name);
  if (row !== undefined) mine.sessions.set(name, { ...row, ...change });
}
