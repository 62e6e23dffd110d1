import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseChatRequest } from '../chat/chat-request.ts';
import { createOmissions } from '../chat/omissions.ts';
import { ServingError } from '../errors.ts';
import { chatBody, countedChatBody } from '../messages/chat-body.ts';
import { messagesForm } from '../messages/messages-form.ts';
import { answerRequest } from './chat.ts';
import type { ServingWorld } from './world.ts';

/** Anthropic's Messages, as JSON or as a stream, and the count of their tokens. */
export function registerMessages(server: FastifyInstance, world: ServingWorld): void {
  const parse = (translate: typeof chatBody, { body }: FastifyRequest) => {
    const omissions = createOmissions(world.config);
    return parseChatRequest(translate(body, omissions), { formatParam: 'output_config.format', omissions });
  };
  const messages = async (request: FastifyRequest, reply: FastifyReply) =>
    answerRequest(world, request, reply, parse(chatBody, request), messagesForm);
  const countTokens = async (request: FastifyRequest) => {
    const { generation } = parse(countedChatBody, request);
    if (world.engine.countTokens === undefined) throw ServingError.TOKENS_UNKNOWN();
    return { input_tokens: await world.engine.countTokens(generation) };
  };
  for (const prefix of ['/v1', '']) {
    server.post(`${prefix}/messages`, messages);
    server.post(`${prefix}/messages/count_tokens`, countTokens);
  }
}
