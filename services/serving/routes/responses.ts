import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../access.ts';
import { parseChatRequest } from '../chat/chat-request.ts';
import { laneOfCompletion } from '../chat/lane.ts';
import { ServingError } from '../errors.ts';
import { chatBody } from '../responses/chat-body.ts';
import { readResponsesBody } from '../responses/fields.ts';
import { responsesForm } from '../responses/responses-form.ts';
import { callerOf } from '../server.ts';
import { answerRequest } from './chat.ts';
import type { ServingWorld } from './world.ts';

/** OpenAI's Responses, as JSON or as a stream. */
export function registerResponses(server: FastifyInstance, world: ServingWorld): void {
  const { conversations, sessions } = world;
  const responses = async (request: FastifyRequest, reply: FastifyReply) => {
    const body = readResponsesBody(request.body);
    const before = await beforeIt(body.previous_response_id, callerOf(request));
    const chat = parseChatRequest(chatBody(body, before));
    return answerRequest(world, request, reply, chat, responsesForm(body, conversations));
  };
  const beforeIt = async (id: string | null | undefined, { keyId, sessionKey }: Caller) => {
    if (id == null) return [];
    const isForeign =
      sessionKey !== undefined && laneOfCompletion(id) !== (await sessions.speaking(sessionKey)).lane;
    const before = isForeign ? undefined : await conversations.find(id, keyId);
    if (before !== undefined) return before;
    throw ServingError.PREVIOUS_RESPONSE_NOT_FOUND({ param: 'previous_response_id', id });
  };
  for (const prefix of ['/v1', '']) server.post(`${prefix}/responses`, responses);
}
