import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../access.ts';
import { parseChatRequest } from '../chat/chat-request.ts';
import { laneOfCompletion } from '../chat/lane.ts';
import { ServingError } from '../errors.ts';
import { chatBody } from '../responses/chat-body.ts';
import { readResponsesBody } from '../responses/fields.ts';
import { type FindConversations, withoutReferences } from '../responses/item-references.ts';
import { responsesForm } from '../responses/responses-form.ts';
import { callerOf } from '../server.ts';
import { answerRequest } from './chat.ts';
import type { ServingWorld } from './world.ts';

/** OpenAI's Responses, as JSON or as a stream. */
export function registerResponses(server: FastifyInstance, world: ServingWorld): void {
  const { conversations, sessions } = world;
  const responses = async (request: FastifyRequest, reply: FastifyReply) => {
    const asked = readResponsesBody(request.body);
    const find = finder(callerOf(request));
    const body = { ...asked, input: await withoutReferences(asked.input, find) };
    const before = await beforeIt(body.previous_response_id, find);
    const chat = parseChatRequest(chatBody(body, before));
    return answerRequest(world, request, reply, chat, responsesForm(body, conversations));
  };
  /** Who speaks by a session's key goes on from that session alone. */
  const finder =
    ({ keyId, sessionKey }: Caller): FindConversations =>
    async (ids) => {
      const lane = sessionKey === undefined ? undefined : (await sessions.speaking(sessionKey)).lane;
      const theirs = ids.filter((id) => lane === undefined || laneOfCompletion(id) === lane);
      return conversations.find(theirs, keyId);
    };
  const beforeIt = async (id: string | null | undefined, find: FindConversations) => {
    if (id == null) return [];
    const before = (await find([id])).get(id);
    if (before !== undefined) return before;
    throw ServingError.PREVIOUS_RESPONSE_NOT_FOUND({ param: 'previous_response_id', id });
  };
  for (const prefix of ['/v1', '']) server.post(`${prefix}/responses`, responses);
}
