import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Table } from '../../shared/log/rows.ts';
import { type Conversation, hashOfAnswer, shortHash } from './conversation.ts';
import type { LaneTables, SessionRow } from './lane-tables.ts';

type Request = {
  readonly data: InteractionCompleted['data'];
  readonly conversation: Conversation;
};

/**
 * Whether a request under a system text that its session never had is of the main line all the same. A program
 * replaces its system text in mid-conversation; what it asks beside the conversation has another one, too. The main
 * line goes on from its own answers with the tools that it had. Where the tools changed as well, it shows one request
 * later: the answer under the new text stands in its history, which no answer to a helper's request does. A helper
 * that came first (a title) is no main line: nothing goes on from it.
 */
export function hasNewSystem(
  mine: LaneTables,
  session: string,
  row: SessionRow,
  { data, conversation: { answers } }: Request,
): boolean {
  const isKnown = answers.some(({ full }) => mine.known.get(full) === session);
  const tools = toolsOf(data);
  if (isKnown && tools !== undefined && tools === row.tools) return true;
  const isOwn = answers.some(({ full }) => mine.asides.get(full) === session);
  return isOwn && (isKnown || row.goesOn === undefined);
}

/** By what later requests of the session are told from those beside it. */
export function noteMainLine(mine: LaneTables, session: string, { data, conversation }: Request): void {
  const row = mine.sessions.get(session);
  if (row === undefined) return;
  const { tools: _, ...rest } = row;
  const tools = toolsOf(data);
  const goesOn =
    row.goesOn === true ||
    (data.answer.tool_calls ?? []).length > 0 ||
    conversation.answers.some(({ full }) => mine.known.get(full) === session);
  mine.sessions.set(session, {
    ...rest,
    ...(tools === undefined ? {} : { tools }),
    ...(goesOn ? { goesOn } : {}),
  });
  noteAnswer(mine, session, data.answer);
}

/** A later history may begin anywhere: what was answered tells whose it is. */
export function noteAnswer(mine: LaneTables, session: string, message: ChatMessage): void {
  const answer = hashOfAnswer(message);
  if (answer !== undefined) noteIn(mine.answers, answer, session);
}

/** What stands in two sessions leads to neither: more than two need not be kept. */
export function noteIn(table: Table<readonly string[]>, row: string, session: string): void {
  const places = table.get(row) ?? [];
  if (places.length < 2 && !places.includes(session)) table.set(row, [...places, session]);
}

function toolsOf({ tools = [] }: InteractionCompleted['data']): string | undefined {
  const names = tools.flatMap((tool) => (tool as { function?: { name?: string } }).function?.name ?? []);
  return names.length === 0 ? undefined : shortHash(JSON.stringify(names.toSorted()));
}
