import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { ResponseDeleted } from '../../../../shared/events/response-deleted.ts';
import { utcNow } from '../../../../shared/runtime/clock.ts';
import { isServiceError } from '../../../../shared/runtime/errors.ts';
import { laneOfCompletion } from '../../answer/answer-ids.ts';
import { answerRequest } from '../../answer/answer-request.ts';
import { resolveModel } from '../../answer/resolve-model.ts';
import { ServingError } from '../../errors.ts';
import type { Caller } from '../../http/access.ts';
import { callerOf } from '../../http/caller.ts';
import { admitOther } from '../../http/key-limits.ts';
import type { ApiDeps } from '../api-deps.ts';
import { createOmissions } from '../request/omissions.ts';
import { parseChatRequest } from '../request/parse-chat-request.ts';
import { chatBody } from './chat-body.ts';
import { type Item, type ResponsesBody, readPart, readResponsesBody, referenceItem } from './fields.ts';
import { answerOfItem, firstOfKind, itemsOf, repeatedFields } from './response-parts.ts';
import { responsesForm } from './responses-form.ts';
import { bodyOf, conversationOf, type StoredResponse } from './stored-response.ts';

type Find = (ids: readonly string[]) => Promise<ReadonlyMap<string, StoredResponse>>;

/** OpenAI's Responses, as JSON or as a stream. */
export function registerResponses(server: FastifyInstance, deps: ApiDeps): void {
  const { conversations, sessions, recorder, quota } = deps;
  /**
   * A session key can continue only its own session, and an adapter only its own answers.
   *
   * @param model that continues the response; the look-up then counts as a request. Undefined: only retrieve it
   */
  const finder =
    (caller: Caller, model?: string): Find =>
    async (ids) => {
      const { keyId, sessionKey } = caller;
      if (model !== undefined && ids.length > 0) admitOther(quota, caller);
      const session = sessionKey === undefined ? undefined : await sessions.current(sessionKey);
      const allowed = ids.filter((id) => session === undefined || laneOfCompletion(id) === session.lane);
      const resolved = model === undefined ? undefined : resolveModel(deps, caller, session, model);
      return conversations.find(allowed, keyId, resolved?.adapter);
    };
  const create = async (request: FastifyRequest, reply: FastifyReply) => {
    const omissions = createOmissions(deps.config);
    const received = readResponsesBody(request.body, omissions);
    const find = finder(callerOf(request), received.model);
    const body = { ...received, input: await withoutReferences(received.input, find) };
    const conversation = await previousConversation(body.previous_response_id, find);
    const parsed = parseChatRequest(chatBody(body, conversation, omissions), {
      formatParam: 'text.format',
      omissions,
    });
    const chat = { ...parsed, response: repeatedFields(body) };
    return answerRequest(deps, { request, reply }, chat, responsesForm(body, conversations)).catch(nameInput);
  };
  const retrieve = async (request: FastifyRequest) => {
    refuseStream(request);
    const { id, stored } = await storedOf(request);
    return bodyOf(id, stored);
  };
  const remove = async (request: FastifyRequest) => {
    const { id, stored } = await storedOf(request);
    const { keyId: key } = callerOf(request);
    const deleted = ResponseDeleted.create({
      id: `${id}/deleted`,
      source: 'clawloop/serving',
      time: utcNow(),
      data: { interactionId: id, lane: laneOfCompletion(id)!, key, adapter: stored.adapter },
    });
    if (!(await recorder.record(deleted))) throw ServingError.NOT_RECORDED({ retryAfterSeconds: 5 });
    conversations.forget(deleted);
    return { id, object: 'response', deleted: true };
  };
  const storedOf = async (request: FastifyRequest) => {
    const { id } = request.params as { readonly id: string };
    const stored = id.startsWith('resp_') ? (await finder(callerOf(request))([id])).get(id) : undefined;
    if (stored === undefined) throw ServingError.RESPONSE_NOT_FOUND({ id: id.slice(0, 200) });
    return { id, stored };
  };
  for (const prefix of ['/v1', '']) {
    server.post(`${prefix}/responses`, create);
    server.get(`${prefix}/responses/:id`, retrieve);
    server.delete(`${prefix}/responses/:id`, remove);
  }
}

async function previousConversation(id: string | null | undefined, find: Find) {
  if (id == null) return [];
  const previous = (await find([id])).get(id);
  if (previous === undefined)
    throw ServingError.PREVIOUS_RESPONSE_NOT_FOUND({ param: 'previous_response_id', id });
  return conversationOf(previous);
}

/** An error in the messages of the chat is an error in the input of the response. */
function nameInput(error: unknown): never {
  if (isServiceError(error) && error.param === 'messages') throw Object.assign(error, { param: 'input' });
  throw error;
}

/** Only background responses, which this server does not offer, can be streamed again. */
function refuseStream(request: FastifyRequest): void {
  const { stream } = request.query as { readonly stream?: string };
  if (stream === undefined || stream === 'false') return;
  const detail = 'a response can be streamed only while it is generated.';
  throw ServingError.UNSUPPORTED_PARAMETER({ param: 'stream', detail });
}

/** The answers that exist, by id. */
type FindAnswers = (
  answerIds: readonly string[],
) => Promise<ReadonlyMap<string, { readonly answer: ChatMessage }>>;

/**
 * Replaces references to items of earlier answers with the items. Vercel's SDK sends earlier answers only as
 * references.
 * @throws ServingError ITEM_NOT_FOUND with the path of the reference
 */
async function withoutReferences(
  input: ResponsesBody['input'],
  find: FindAnswers,
): Promise<ResponsesBody['input']> {
  if (typeof input === 'string') return input;
  const references = input.flatMap((item, at) => (item.type === 'item_reference' ? [at] : []));
  if (references.length === 0) return input;
  const idAt = new Map(references.map((at) => [at, readPart(referenceItem, input[at], `input[${at}]`).id]));
  const answerIds = new Set([...idAt.values()].flatMap((id) => answerOfItem(id) ?? []));
  const answers = await find([...answerIds]);
  const items = new Map<string, Item>();
  for (const [answerId, { answer }] of answers)
    for (const item of itemsOf(answer, answerId)) items.set(item.id, item);
  const inserted = new Set<Item>();
  return input.flatMap((item, at): readonly Item[] => {
    const id = idAt.get(at);
    if (id === undefined) return [item];
    const referenced = items.get(firstOfKind(id));
    if (referenced === undefined) throw ServingError.ITEM_NOT_FOUND({ param: `input[${at}]`, id });
    if (id !== firstOfKind(id) && inserted.has(referenced)) return [];
    inserted.add(referenced);
    return [referenced];
  });
}
