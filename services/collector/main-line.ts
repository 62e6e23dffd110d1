import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { defined } from '../../shared/lang/defined.ts';
import { shortHash } from '../../shared/lang/short-hash.ts';
import type { Table } from '../../shared/log/rows.ts';
import { type Conversation, hashOfAnswer } from './conversation.ts';
import type { LaneTables, SessionRow } from './lane-tables.ts';

type Request = {
  readonly data: InteractionCompleted['data'];
  readonly conversation: Conversation;
};

/**
 * Whether a request with a new system text still belongs to the main line. A program may replace its system
 * text in mid-conversation, but its side requests have another system text, too. The main line continues from
 * its own answers with the same tools. If the tools also changed, this shows one request later: the answer
 * under the new text is then in the history, which never happens with a side request. A side request that
 * arrived first (a title) is not a main line, because nothing continues from it.
 */
export function isMainUnderNewSystem(
  tables: LaneTables,
  session: string,
  row: SessionRow,
  { data, conversation: { answers } }: Request,
): boolean {
  const isKnown = answers.some(({ full }) => tables.known.get(full) === session);
  const tools = toolsOf(data);
  if (isKnown && tools !== undefined && tools === row.tools) return true;
  const continuesAside = answers.some(({ full }) => tables.asides.get(full) === session);
  return continuesAside && (isKnown || row.goesOn === undefined);
}

/** Stores what distinguishes later main requests of the session from side requests. */
export function noteMainLine(tables: LaneTables, session: string, { data, conversation }: Request): void {
  const row = tables.sessions.get(session);
  if (row === undefined) return;
  const { tools: _, ...unchanged } = row;
  const tools = toolsOf(data);
  const goesOn =
    row.goesOn === true ||
    (data.answer.tool_calls ?? []).length > 0 ||
    conversation.answers.some(({ full }) => tables.known.get(full) === session);
  tables.sessions.set(session, {
    ...unchanged,
    ...defined({ tools, goesOn: goesOn ? goesOn : undefined }),
  });
  noteAnswer(tables, session, data.answer);
}

/** Notes the session of an answer, because a later history may begin anywhere. */
export function noteAnswer(tables: LaneTables, session: string, message: ChatMessage): void {
  const answer = hashOfAnswer(message);
  if (answer !== undefined) noteSession(tables.answers, answer, session);
}

/** Notes a session under a hash. Two sessions make it ambiguous, so no more than two are kept. */
export function noteSession(table: Table<readonly string[]>, hash: string, session: string): void {
  const sessions = table.get(hash) ?? [];
  if (sessions.length < 2 && !sessions.includes(session)) table.set(hash, [...sessions, session]);
}

function toolsOf({ tools = [] }: InteractionCompleted['data']): string | undefined {
  const names = tools.flatMap((tool) => (tool as { function?: { name?: string } }).function?.name ?? []);
  return names.length === 0 ? undefined : shortHash(JSON.stringify(names.toSorted()));
}
