import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { chatMessages as ofMessages } from '../../services/serving/api/messages/chat-messages.ts';
import { createOmissions } from '../../services/serving/api/request/omissions.ts';
import { chatMessages as ofResponses } from '../../services/serving/api/responses/chat-messages.ts';
import { type ChatMessage, chatMessage } from '../../shared/events/chat-message.ts';
import type { ClientName } from './client.ts';
import { clientsCache } from './install.ts';
import { answers, CALLING, SUMMARY, said } from './steps.ts';

/** One JSON file per program. The files contain the programs' own prompts. */
export const recordingsFolder = join(clientsCache, 'requests');

const recording = z.object({
  requests: z.array(
    z.object({
      path: z.string(),
      body: z.looseObject({ tools: z.array(z.looseObject({})).nullish() }),
      reply: z.object({
        kind: z.string(),
        text: z.string(),
        call: z.object({ name: z.string(), arguments: z.unknown() }).optional(),
      }),
      aborted: z.boolean(),
    }),
  ),
});

export type RecordedRequest = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly object[];
  readonly answer: ChatMessage;
  readonly aborted: boolean;
  /** false: the program's own request, not one of the conversation */
  readonly isConversation: boolean;
};

/** The requests of a program; undefined: `npm run record:clients` was not run for it. */
export function recordedRequests(name: ClientName): readonly RecordedRequest[] | undefined {
  const file = join(recordingsFolder, `${name}.json`);
  if (!existsSync(file)) return undefined;
  const { requests } = recording.parse(JSON.parse(readFileSync(file, 'utf8')));
  return requests.map(({ path, body, reply, aborted }) => ({
    messages: messagesOf(path, body),
    tools: (body.tools ?? []).map((tool) => ('function' in tool ? tool : { function: tool })),
    answer: answerOf(reply, aborted),
    aborted,
    isConversation: reply.kind === 'conversation',
  }));
}

/** The scripted model's answer to the program's own requests. */
const NOTHING = 'Nothing to keep.';
/** The part of the stopped answer that every program showed. */
const BEGUN = 'This answer goes on';

const answerOf = ({ text, call }: Reply, aborted: boolean): ChatMessage => ({
  role: 'assistant',
  content: aborted ? BEGUN : text,
  ...(call === undefined
    ? {}
    : {
        tool_calls: [
          {
            id: 'call',
            type: 'function',
            function: { name: call.name, arguments: JSON.stringify(call.arguments) },
          },
        ],
      }),
});

type Reply = z.infer<typeof recording>['requests'][number]['reply'];
type Body = z.infer<typeof recording>['requests'][number]['body'];

function messagesOf(path: string, body: Body): readonly ChatMessage[] {
  if (path.includes('/responses'))
    return ofResponses(body.input as Parameters<typeof ofResponses>[0], createOmissions());
  if (path.includes('/messages'))
    return ofMessages(body as Parameters<typeof ofMessages>[0], createOmissions());
  return z.array(chatMessage).parse(body.messages);
}

const { stopped: _, ...whole } = answers;
const spoken = new Set([...Object.values(said), ...Object.values(whole), BEGUN, CALLING, SUMMARY, NOTHING]);

/** A message with other texts. */
export const withTexts = (one: ChatMessage, change: (text: string) => string): ChatMessage => ({
  ...one,
  ...(typeof one.content === 'string' ? { content: change(one.content) } : {}),
  ...(Array.isArray(one.content)
    ? {
        content: one.content.map((part) =>
          part.text === undefined ? part : { ...part, text: change(part.text) },
        ),
      }
    : {}),
});

/** The same run by another person, with other words in all messages and answers. */
export function bySomebodyElse(requests: readonly RecordedRequest[]): readonly RecordedRequest[] {
  const changed = (text: string) =>
    [...spoken].reduce((result, words) => result.replaceAll(words, `Somebody else: ${words}`), text);
  return requests.map((request) => ({
    ...request,
    messages: request.messages.map((one) => withTexts(one, changed)),
    answer: withTexts(request.answer, changed),
  }));
}
