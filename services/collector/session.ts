import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { defined } from '../../shared/lang/defined.ts';
import { type Conversation, summarisedWords, summaryLines } from './conversation.ts';
import { editedFirst } from './edited-first.ts';
import type { LaneTables, SessionRow } from './lane-tables.ts';
import { isAlike, type SystemSketch } from './system-sketch.ts';

/** After this time, ms, the same first request begins another chat. */
const RETRY_MS = 600_000;
/** How long, ms, a request with the same words but another system text (a title) belongs to a first request. */
const BESIDE_MS = 60_000;

type FoundSession = {
  readonly session: string;
  readonly by: string;
};

export type Search = {
  readonly tables: LaneTables;
  readonly data: InteractionCompleted['data'];
  readonly conversation: Conversation;
  /** whether its text alone makes it a side request */
  readonly isSide: boolean;
  /** `clients` of the fold's settings */
  readonly clients: boolean;
  /** ms since 1970 */
  readonly time: number;
};
type Way = {
  readonly by: string;
  readonly about: string;
  readonly find: (search: Search) => string | undefined;
};

/** The first way that finds a session wins. The order is part of the specification. */
export const sessionWays: readonly Way[] = [
  { by: 'explicit', about: 'the client named it', find: ({ data }) => data.session },
  {
    by: 'runtime',
    about: "OpenClaw's `Runtime:` line names it",
    find: ({ conversation }) => conversation.runtime.session,
  },
  {
    by: 'history',
    about: 'the messages extend a known conversation; the longest one counts',
    find: ({ tables, conversation }) => {
      for (const { full } of conversation.answers.toReversed()) {
        const session = tables.known.get(full);
        if (session !== undefined) return session;
      }
      return undefined;
    },
  },
  {
    by: 'continued',
    about: 'an earlier conversation contains this very answer',
    find: ({ tables, conversation }) =>
      tables.known.get(conversation.full) ?? tables.shown.get(conversation.full),
  },
  {
    by: 'prompt',
    about: 'the same first request, retried before its conversation continued, or sent in parallel',
    find: ({ tables, conversation, time, isSide, clients }) => {
      const first = tables.firstPrompts.get(conversation.prompt);
      const row = first && tables.sessions.get(first.session);
      if (first === undefined || !row?.open) return undefined;
      const isSame = row.system === null || hasSystem(row, conversation.systemSketch);
      if (clients && !isSame && !isSide) return undefined; // another person or program
      return Math.abs(time - first.time) < (isSame ? RETRY_MS : BESIDE_MS) ? first.session : undefined;
    },
  },
  {
    by: 'edited',
    about: 'the same first request, extended by the person before its conversation continued',
    find: ({ tables, data, conversation, isSide }) =>
      isSide ? undefined : editedFirst({ tables, data, conversation })?.session,
  },
  {
    by: 'summary',
    about: "the request begins with a compaction's summary of the session's history",
    find: ({ tables, clients, conversation: { summary } }) => {
      for (const line of summary === undefined ? [] : summaryLines(summary)) {
        const places = tables.summed.get(line) ?? [];
        const session = clients ? places.length === 1 && places[0] : tables.summaries.get(line);
        if (session) return session;
      }
      return undefined;
    },
  },
  {
    by: 'answer',
    about: 'the history contains an answer that was given only in that session, whatever precedes it',
    find: ({ tables, conversation: { answersAlone } }) => {
      const places = answersAlone.map((answer) => tables.answers.get(answer) ?? []);
      const session = places.find(({ length }) => length === 1)?.[0];
      return session !== undefined && tables.sessions.get(session)?.open ? session : undefined;
    },
  },
  {
    by: 'trace',
    about: "it is a side request with the W3C trace id of one of the session's requests",
    find: ({ tables, isSide, conversation: { traceId } }) =>
      isSide && traceId ? tables.traces.get(traceId) : undefined,
  },
  {
    by: 'said',
    about: 'the request asks for a summary or recap of text that only that session contains',
    find: ({ tables, isSide, conversation: { latestWords } }) => {
      if (!isSide) return undefined;
      const places = summarisedWords(latestWords).map((line) => tables.said.get(line) ?? []);
      return places.find(({ length }) => length === 1)?.[0];
    },
  },
  {
    by: 'user',
    about: 'the history is unknown, and the same `user` was last active there under a similar system text',
    find: ({ tables, data, conversation: { answers, systemSketch } }) => {
      if (data.user === undefined || answers.length === 0) return undefined;
      const session = tables.users.get(data.user);
      const row = session === undefined ? undefined : tables.sessions.get(session);
      return row?.open && hasSystem(row, systemSketch) ? session : undefined;
    },
  },
];

/** The session of a request; undefined if it begins one. */
export function findSession(search: Search): FoundSession | undefined {
  if (search.data.tooLarge && search.data.session === undefined) return undefined; // it has no text to compare
  for (const { by, find } of sessionWays) {
    const session = find(search);
    if (session !== undefined) return { session, by };
  }
  return undefined;
}

/** Records an event in its session. After the session's end it begins a new epoch, named by this event's id. */
export function touchSession(tables: LaneTables, name: string, event: ClawLoopEvent): SessionRow {
  const before = tables.sessions.get(name);
  const settle = 'settle' in event.data && event.data.settle === 'reward' ? event.data.settle : undefined;
  const started = event.type === 'session.started' ? event.data : undefined;
  const asked = defined({ settle, process: started?.process, weigh: started?.weigh });
  const row: SessionRow = before?.open
    ? { ...before, ...asked, last: event.id }
    : {
        ...asked,
        open: true,
        epoch: event.id,
        last: event.id,
        closedAt: null,
        openTurns: [],
        system: null,
      };
  tables.sessions.set(name, row);
  return row;
}

/** Whether a session's main line has, or had, a system text like this. */
export const hasSystem = (row: SessionRow, sketch: SystemSketch): boolean =>
  [row.system, ...(row.earlierSystems ?? [])].some((system) => system !== null && isAlike(system, sketch));

/** Earlier system texts that are kept per session, besides the latest. */
const EARLIER = 8;

export function noteSystem(tables: LaneTables, name: string, system: SystemSketch): void {
  const row = tables.sessions.get(name);
  if (row === undefined) return;
  const isNew = row.system !== null && !isAlike(row.system, system);
  const others = (row.earlierSystems ?? []).filter((earlier) => !isAlike(earlier, system));
  const earlierSystems = isNew ? [...others, row.system!].slice(-EARLIER) : undefined;
  tables.sessions.set(name, { ...row, ...defined({ earlierSystems }), system });
}

export function updateSession(tables: LaneTables, name: string, change: Partial<SessionRow>): void {
  const row = tables.sessions.get(name);
  if (row !== undefined) tables.sessions.set(name, { ...row, ...change });
}
