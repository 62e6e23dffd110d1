import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AcceptedRequest, FinishedAnswer } from '../../answer/answer.ts';
import type { AnswerForm } from '../../answer/answer-form.ts';
import { answerRequest } from '../../answer/answer-request.ts';
import { ServingError } from '../../errors.ts';
import { messagesError } from '../../http/messages-error-body.ts';
import type { ApiDeps } from '../api-deps.ts';
import { createOmissions } from '../request/omissions.ts';
import { parseChatRequest } from '../request/parse-chat-request.ts';
import { chatBody, countedChatBody, formatParamOf } from './chat-body.ts';
import { messageEvents } from './message-events.ts';
import { blocksOf, markOf, stopOf, usageOf } from './message-parts.ts';

/** Anthropic's Messages, as JSON or as a stream, and their token count. */
export function registerMessages(server: FastifyInstance, deps: ApiDeps): void {
  const parse = (translate: typeof chatBody, { body }: FastifyRequest) => {
    const omissions = createOmissions(deps.config);
    const chat = translate(body, omissions);
    return parseChatRequest(chat, { formatParam: formatParamOf(body), omissions });
  };
  const messages = async (request: FastifyRequest, reply: FastifyReply) =>
    answerRequest(deps, { request, reply }, parse(chatBody, request), messagesForm);
  const countTokens = async (request: FastifyRequest) => {
    const { generation } = parse(countedChatBody, request);
    if (deps.engine.countTokens === undefined) throw ServingError.TOKENS_UNKNOWN();
    return { input_tokens: await deps.engine.countTokens(generation) };
  };
  for (const prefix of ['/v1', '']) {
    server.post(`${prefix}/messages`, messages);
    server.post(`${prefix}/messages/count_tokens`, countTokens);
  }
}

/** Answers in the form of Anthropic's API. */
const messagesForm: AnswerForm = {
  api: 'messages',
  show: (accepted) => ({ body: (finished) => messageBody(accepted, finished), ...messageEvents(accepted) }),
  failure: (error, { requestId }) => [{ event: 'error', data: messagesError(error, requestId) }],
  endMark: undefined,
};

function messageBody({ id, chat: { model, ignored } }: AcceptedRequest, finished: FinishedAnswer): object {
  const { answer, generated } = finished.choices[0]!;
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: blocksOf(answer, id),
    ...stopOf(generated),
    usage: usageOf(finished.usage),
    ...markOf(finished, ignored),
  };
}
