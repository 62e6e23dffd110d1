import { canonicalJson } from '../../shared/chat/canonical-json.ts';
import { isInternalContext, isSystem } from '../../shared/chat/message.ts';
import { normaliseMessage } from '../../shared/chat/normalise.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { defined } from '../../shared/lang/defined.ts';
import { shortHash } from '../../shared/lang/short-hash.ts';
import type { Conversation } from './conversation.ts';
import { addsPassage, firstWords, headOf, mayShareTemplate } from './first-words.ts';
import type { FirstRequest, LaneTables } from './lane-tables.ts';
import { isSameSketch } from './system-sketch.ts';

/** Least time in which a person reads an answer and edits the request, ms. A program is faster. */
const FASTEST_EDIT_MS = 2000;
/** After this time, ms, an edited request begins another conversation. */
const EDIT_MS = 600_000;
/** How long a first request is remembered, ms, and how many are remembered per access key. */
const REMEMBERED_MS = 3_600_000;
const REMEMBERED = 16;
/** Edits of one first message. A text that grows with every request comes from a program. */
const MOST_EDITS = 2;
const LATEST = 'latest';

type RequestInLane = {
  readonly tables: LaneTables;
  readonly data: InteractionCompleted['data'];
  readonly conversation: Conversation;
};

/**
 * The first request that this one is an edit of. The two share no history, so only their words can be compared,
 * and a program that fills a template sends similar ones. An edit therefore must add a passage, under the same
 * system text, tools and sampling, after a complete answer that was not continued. No other recent request of
 * this person may look like the same template or job. A client that names sessions must name the same one; a
 * client that names none must have taken as long as a person needs.
 */
export function editedFirst({ tables, data, conversation }: RequestInLane): FirstRequest | undefined {
  const recent = tables.firstRequests.get(LATEST);
  const text = onlyMessage(data, conversation);
  if (recent === undefined || text === undefined) return undefined;
  const began = Date.parse(data.timing.startedAt);
  const client = clientOf(data);
  const name = nameOf(data, conversation);
  const ofPerson = recent.filter(({ user }) => user === data.user);
  const edited = ofPerson.findLast((first) => {
    const waited = began - first.time;
    return (
      (first.named ? first.session === name : name === undefined && waited >= FASTEST_EDIT_MS) &&
      waited > 0 &&
      waited < EDIT_MS &&
      first.edits < MOST_EDITS &&
      first.client === client &&
      isSameSketch(first.system, conversation.systemSketch) &&
      addsPassage(first, text) &&
      isWholeSession(tables, first)
    );
  });
  if (edited === undefined) return undefined;
  const words = firstWords(text);
  const looksGenerated = ofPerson.some(
    (other) =>
      other !== edited &&
      began - other.time < REMEMBERED_MS &&
      (other.session === edited.session ||
        words === undefined ||
        mayShareTemplate(other.words, words) ||
        belongsToJob(tables, other, edited)),
  );
  return looksGenerated ? undefined : edited;
}

/**
 * Whether both requests look like steps of a job. A job with a short template, or none, shows by its pace: it
 * sends one request after another and continues none. If the client names its sessions, the names tell more.
 */
const belongsToJob = (tables: LaneTables, other: FirstRequest, edited: FirstRequest): boolean =>
  !other.named && !edited.named && edited.time - other.time < EDIT_MS && isWholeSession(tables, other);

/** Stores a first request for comparison with later ones. An edit replaces its original. */
export function noteFirst(view: RequestInLane, event: InteractionCompleted, session: string): void {
  const { tables, data, conversation } = view;
  const text = onlyMessage(data, conversation);
  const words = text === undefined ? undefined : firstWords(text);
  if (words === undefined) return;
  const { prompt, systemSketch: system } = conversation;
  const time = Date.parse(event.time);
  const before = editedFirst(view);
  const edited = before?.session === session ? before : undefined;
  const known = tables.firstRequests.get(LATEST) ?? [];
  const repeated = known.find((first) => first.session === session && first.prompt === prompt);
  const calls = data.answer.tool_calls?.length ?? 0;
  const request: FirstRequest = {
    id: event.id,
    session,
    named: nameOf(data, conversation) !== undefined,
    prompt,
    time,
    words,
    system,
    ...defined({ user: data.user }),
    head: calls > 0 ? [] : headOf(normaliseMessage(data.answer)?.text ?? ''),
    client: clientOf(data),
    edits: edited === undefined ? (repeated?.edits ?? 0) : edited.edits + 1,
  };
  const others = known.filter(
    (first) => first !== edited && first !== repeated && time - first.time < REMEMBERED_MS,
  );
  tables.firstRequests.set(LATEST, [...others, request].slice(-REMEMBERED));
}

/** Deletes all trace of a withdrawn request, including the hashes of its words. */
export function forgetFirst({ firstRequests }: LaneTables, turnId: string): void {
  const known = firstRequests.get(LATEST) ?? [];
  const left = known.filter(({ id }) => id !== turnId);
  if (left.length === known.length) return;
  if (left.length > 0) firstRequests.set(LATEST, left);
  else firstRequests.delete(LATEST);
}

/** The words of a request that consists of one text message by a person. */
function onlyMessage(
  { live, settle }: InteractionCompleted['data'],
  { messages, latestWords, latestKind, isFromAgent: isOfAgent }: Conversation,
): string | undefined {
  const spoken = messages.filter((message) => !isSystem(message) && !isInternalContext(message));
  const only = spoken.length === 1 ? spoken[0]! : undefined;
  if (!live || settle !== 'votes' || only?.role !== 'user' || isOfAgent) return undefined;
  const isText = typeof only.content === 'string' || only.content?.every(({ type }) => type === 'text');
  return isText && latestKind === undefined ? latestWords : undefined;
}

const nameOf = ({ session }: InteractionCompleted['data'], { runtime }: Conversation) =>
  session ?? runtime.session;

/** Whether an open session contains only answers to this request and to its earlier versions. */
function isWholeSession(tables: LaneTables, { id, session, prompt }: FirstRequest): boolean {
  const row = tables.sessions.get(session);
  if (!row?.open || tables.turns.get(id)?.status !== 'open') return false;
  return row.openTurns.every((openId) => {
    const turn = tables.turns.get(openId);
    return turn?.status === 'open' && (turn.prompt === prompt || turn.told === 'implied');
  });
}

/** Identifies the part of a program that sends a request: another model, tools or sampling is another part. */
function clientOf({ api, adapter, model, tools, sampling }: InteractionCompleted['data']): string {
  const { temperature, topP, topK, minP, stop } = sampling;
  return shortHash(
    canonicalJson([api, adapter, model, tools ?? [], temperature, topP, topK, minP ?? 0, stop ?? []]),
  );
}
