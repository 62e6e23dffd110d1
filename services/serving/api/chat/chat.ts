import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerForm } from '../../answer/answer-form.ts';
import { answerRequest } from '../../answer/answer-request.ts';
import { errorBody } from '../../http/error-body.ts';
import type { Frame } from '../../http/event-stream.ts';
import type { ApiDeps } from '../api-deps.ts';
import { createOmissions } from '../request/omissions.ts';
import { parseChatRequest } from '../request/parse-chat-request.ts';
import { type CompletionHead, completionBody, completionChunks } from './completion.ts';

/** OpenAI's chat completions, as JSON or as a stream. */
export function registerChat(server: FastifyInstance, deps: ApiDeps): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const omissions = createOmissions(deps.config);
    const chat = parseChatRequest(request.body, { omissions });
    return answerRequest(deps, { request, reply }, chat, chatForm);
  };
  server.post('/v1/chat/completions', handler);
  server.post('/chat/completions', handler);
}

const frameOf = (data: object): Frame => ({ data });

const chatForm: AnswerForm = {
  api: 'chat',
  show: ({ id, created, chat: { model, includeUsage, generation, ignored, oldCalls } }) => {
    const head: CompletionHead = { id, model, created };
    const { choices } = generation;
    const chunks = completionChunks(head, { choices, includeUsage, ignored, oldCalls });
    const logProbs = generation.topLogProbs !== undefined;
    return {
      body: (finished) => completionBody(head, finished, { ignored, oldCalls }),
      first: () => chunks.first().map(frameOf),
      next: (chunk, choice) => [frameOf(chunks.next(chunk, choice, logProbs))],
      last: (finished) =>
        [...chunks.last(finished), ...(includeUsage ? [chunks.usage(finished)] : [])].map(frameOf),
    };
  },
  failure: (error) => [frameOf(errorBody(error))],
  endMark: '[DONE]',
};
