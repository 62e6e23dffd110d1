import { canonicalJson } from '../../shared/chat/canonical-json.ts';
import { isInternalContext, isSystem } from '../../shared/chat/message.ts';
import { normaliseMessage } from '../../shared/chat/normalise.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { type Conversation, shortHash } from './conversation.ts';
import { addsPassage, firstWords, headOf, mayShareTemplate } from './first-words.ts';
import type { FirstRequest, LaneTables } from './lane-tables.ts';

/** A person who reads an answer and changes their words needs that long, ms. A program is faster. */
const FASTEST_EDIT_MS = 2000;
/** Later than that, ms, it is another conversation. */
const EDIT_MS = 600_000;
/** How long a first request is remembered, ms, and how many of a key are. */
const REMEMBERED_MS = 3_600_000;
const REMEMBERED = 16;
/** Of one first message. A text that grows with every request is a program's. */
const MOST_EDITS = 2;
const LATEST = 'latest';

export type FirstView = {
  readonly mine: LaneTables;
  readonly data: InteractionCompleted['data'];
  readonly conversation: Conversation;
};

/**
 * The first request of a conversation that this one is an edit of. No part of the history is common to the two, so
 * the words alone tell, and a program that fills a template has similar ones. So only a passage that was added
 * counts, under the same system text, tools and sampling, on a whole answer that nobody went on from, and only
 * where no other recent request of this person looks like the same template or the same job. A client that names its
 * session names the same one. One that names none is taken for a person only if it took a person's time.
 */
export function editedFirst({ mine, data, conversation }: FirstView): FirstRequest | undefined {
  const recent = mine.firstRequests.get(LATEST);
  const text = onlyMessage(data, conversation);
  if (recent === undefined || text === undefined) return undefined;
  const began = Date.parse(data.timing.startedAt);
  const [client, system] = [clientOf(data), canonicalJson(conversation.systemSketch)];
  const name = nameOf(data, conversation);
  const ofPerson = recent.filter(({ user }) => user === data.user);
  const edited = ofPerson.findLast((one) => {
    const waited = began - one.time;
    return (
      (one.named ? one.session === name : name === undefined && waited >= FASTEST_EDIT_MS) &&
      waited > 0 &&
      waited < EDIT_MS &&
      one.edits < MOST_EDITS &&
      one.client === client &&
      canonicalJson(one.system) === system &&
      addsPassage(one, text) &&
      isAllOfItsSession(mine, one)
    );
  });
  if (edited === undefined) return undefined;
  const words = firstWords(text);
  const looksMade = ofPerson.some(
    (one) =>
      one !== edited &&
      began - one.time < REMEMBERED_MS &&
      (one.session === edited.session ||
        words === undefined ||
        mayShareTemplate(one.words, words) ||
        isOfJob(mine, one, edited)),
  );
  return looksMade ? undefined : edited;
}

/**
 * A job whose template is short, or none, shows by its pace: it asks one thing after the other and goes on with
 * none. Of sessions that a client names, the names tell more.
 */
const isOfJob = (mine: LaneTables, one: FirstRequest, edited: FirstRequest): boolean =>
  !one.named && !edited.named && edited.time - one.time < EDIT_MS && isAllOfItsSession(mine, one);

/** What later first requests are compared with. An edit takes the place of what it is an edit of. */
export function noteFirst(view: FirstView, event: InteractionCompleted, session: string): void {
  const { mine, data, conversation } = view;
  const text = onlyMessage(data, conversation);
  const words = text === undefined ? undefined : firstWords(text);
  if (words === undefined) return;
  const { prompt, systemSketch: system } = conversation;
  const time = Date.parse(event.time);
  const before = editedFirst(view);
  const edited = before?.session === session ? before : undefined;
  const known = mine.firstRequests.get(LATEST) ?? [];
  const again = known.find((one) => one.session === session && one.prompt === prompt);
  const calls = data.answer.tool_calls?.length ?? 0;
  const request: FirstRequest = {
    ...{
      id: event.id,
      session,
      named: nameOf(data, conversation) !== undefined,
      prompt,
      time,
      words,
      system,
    },
    ...(data.user === undefined ? {} : { user: data.user }),
    head: calls > 0 ? [] : headOf(normaliseMessage(data.answer)?.text ?? ''),
    client: clientOf(data),
    edits: edited === undefined ? (again?.edits ?? 0) : edited.edits + 1,
  };
  const others = known.filter((one) => one !== edited && one !== again && time - one.time < REMEMBERED_MS);
  mine.firstRequests.set(LATEST, [...others, request].slice(-REMEMBERED));
}

/** Of a request that was taken back, not even the numbers of its words stay. */
export function forgetFirst({ firstRequests }: LaneTables, turnId: string): void {
  const known = firstRequests.get(LATEST) ?? [];
  const left = known.filter(({ id }) => id !== turnId);
  if (left.length === known.length) return;
  if (left.length > 0) firstRequests.set(LATEST, left);
  else firstRequests.delete(LATEST);
}

/** The words of a request that is one message of a person's, in text alone. */
function onlyMessage(
  { live, settle }: InteractionCompleted['data'],
  { messages, latestWords, latestKind, isOfAgent }: Conversation,
): string | undefined {
  const said = messages.filter((message) => !isSystem(message) && !isInternalContext(message));
  const only = said.length === 1 ? said[0]! : undefined;
  if (!live || settle !== 'votes' || only?.role !== 'user' || isOfAgent) return undefined;
  const isText = typeof only.content === 'string' || only.content?.every(({ type }) => type === 'text');
  return isText && latestKind === undefined ? latestWords : undefined;
}

const nameOf = ({ session }: InteractionCompleted['data'], { runtime }: Conversation) =>
  session ?? runtime.session;

/** Whether an open session holds answers to this request alone, and to those that it is an edit of. */
function isAllOfItsSession(mine: LaneTables, { id, session, prompt }: FirstRequest): boolean {
  const row = mine.sessions.get(session);
  if (!row?.open || mine.turns.get(id)?.status !== 'open') return false;
  return row.openTurns.every((one) => {
    const turn = mine.turns.get(one);
    return turn?.status === 'open' && (turn.prompt === prompt || turn.told === 'implied');
  });
}

/** From where in a program a request comes: two with another model, tools or sampling come from two places. */
function clientOf({ api, adapter, model, tools, sampling }: InteractionCompleted['data']): string {
  const { temperature, topP, topK, minP, stop } = sampling;
  return shortHash(
    canonicalJson([api, adapter, model, tools ?? [], temperature, topP, topK, minP ?? 0, stop ?? []]),
  );
}
