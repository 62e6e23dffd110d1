import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import { utcNow } from '../../../shared/service/clock.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import type { Caller } from '../access.ts';
import { laneOfCompletion } from '../chat/answer-ids.ts';
import { parseChatRequest } from '../chat/chat-request.ts';
import { createOmissions } from '../chat/omissions.ts';
import { ServingError } from '../errors.ts';
import { chatBody } from '../responses/chat-body.ts';
import { readResponsesBody } from '../responses/fields.ts';
import { withoutReferences } from '../responses/item-references.ts';
import { saidBack } from '../responses/response-parts.ts';
import { responsesForm } from '../responses/responses-form.ts';
import { bodyOf, conversationOf, type ToldResponse } from '../responses/told-response.ts';
import { callerOf } from '../server.ts';
import { askedModel } from './asked-model.ts';
import { answerRequest } from './chat.ts';
import { admitOther } from './key-limits.ts';
import type { ServingWorld } from './world.ts';

type Find = (ids: readonly string[]) => Promise<ReadonlyMap<string, ToldResponse>>;

/** OpenAI's Responses, as JSON or as a stream. */
export function registerResponses(server: FastifyInstance, world: ServingWorld): void {
  const { conversations, sessions, recorder, quota } = world;
  /**
   * Who speaks by a session's key goes on from that session alone, and no adapter from what another one said.
   *
   * @param model that would go on, which counts as a request of its own; without one it is only told again
   */
  const finder =
    (caller: Caller, model?: string): Find =>
    async (ids) => {
      const { keyId, sessionKey } = caller;
      if (model !== undefined && ids.length > 0) admitOther(quota, caller);
      const session = sessionKey === undefined ? undefined : await sessions.speaking(sessionKey);
      const theirs = ids.filter((id) => session === undefined || laneOfCompletion(id) === session.lane);
      const asked = model === undefined ? undefined : askedModel(world, caller, session, model);
      return conversations.find(theirs, keyId, asked?.adapter);
    };
  const create = async (request: FastifyRequest, reply: FastifyReply) => {
    const omissions = createOmissions(world.config);
    const asked = readResponsesBody(request.body, omissions);
    const find = finder(callerOf(request), asked.model);
    const body = { ...asked, input: await withoutReferences(asked.input, find) };
    const before = await beforeIt(body.previous_response_id, find);
    const parsed = parseChatRequest(chatBody(body, before, omissions), {
      formatParam: 'text.format',
      omissions,
    });
    const chat = { ...parsed, response: saidBack(body) };
    return answerRequest(world, request, reply, chat, responsesForm(body, conversations)).catch(nameInput);
  };
  const retrieve = async (request: FastifyRequest) => {
    refuseStream(request);
    const { id, told } = await theResponse(request);
    return bodyOf(id, told);
  };
  const remove = async (request: FastifyRequest) => {
    const { id, told } = await theResponse(request);
    const { keyId: key } = callerOf(request);
    const deleted = ResponseDeleted.create({
      ...{ id: `${id}/deleted`, source: 'clawloop/serving', time: utcNow() },
      data: { interactionId: id, lane: laneOfCompletion(id)!, key, adapter: told.adapter },
    });
    if (!(await recorder.record(deleted))) throw ServingError.NOT_RECORDED({ retryAfterSeconds: 5 });
    conversations.forget(deleted);
    return { id, object: 'response', deleted: true };
  };
  const theResponse = async (request: FastifyRequest) => {
    const { id } = request.params as { readonly id: string };
    const told = id.startsWith('resp_') ? (await finder(callerOf(request))([id])).get(id) : undefined;
    if (told === undefined) throw ServingError.RESPONSE_NOT_FOUND({ id: id.slice(0, 200) });
    return { id, told };
  };
  for (const prefix of ['/v1', '']) {
    server.post(`${prefix}/responses`, create);
    server.get(`${prefix}/responses/:id`, retrieve);
    server.delete(`${prefix}/responses/:id`, remove);
  }
}

async function beforeIt(id: string | null | undefined, find: Find) {
  if (id == null) return [];
  const before = (await find([id])).get(id);
  if (before === undefined)
    throw ServingError.PREVIOUS_RESPONSE_NOT_FOUND({ param: 'previous_response_id', id });
  return conversationOf(before);
}

/** What is wrong with the messages of the chat is wrong with the input of the response. */
function nameInput(error: unknown): never {
  if (isServiceError(error) && error.param === 'messages') throw Object.assign(error, { param: 'input' });
  throw error;
}

/** Only an answer that is made in the background could be followed once more. */
function refuseStream(request: FastifyRequest): void {
  const { stream } = request.query as { readonly stream?: string };
  if (stream === undefined || stream === 'false') return;
  const detail = 'an answer is streamed while it is made.';
  throw ServingError.UNSUPPORTED_PARAMETER({ param: 'stream', detail });
}
