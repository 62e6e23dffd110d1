import { z } from 'zod';
import { chatMessage } from './chat-message.ts';
import { defineEvent, type EventOf } from './define-event.ts';
import { templateInput } from './template-input.ts';
import { tokenRecord } from './token-record.ts';

/** An answered request, with everything that training needs. Id: the completion id that the client received. */
export const InteractionCompleted = defineEvent('interaction.completed', 2, {
  topic: 'conversations',
  key: (interaction) => interaction.lane,
  writtenBy: 'serving',
  about: 'A request was answered, completely or in part.',
  data: z.object({
    interactionId: z.string().describe('the completion id'),
    requestId: z.string(),
    api: z.enum(['chat', 'responses', 'messages']),
    lane: z
      .string()
      .describe(
        'short hash of the access key and the explicit session, if any; of a named adapter, if there is no session',
      ),
    key: z.string().describe('id of the access key; nothing is matched across keys'),
    adapter: z.string(),
    live: z.boolean().describe('false for @base and pinned versions, which make no turns'),
    settle: z.enum(['votes', 'reward']).describe('what settles the turn'),
    session: z.string().optional().describe('session id, if the client sent one'),
    turnType: z.enum(['main', 'side']).optional().describe('turn type, if the client sent one'),
    user: z.string().optional().describe("the client's name for the person: a hint at the session"),
    response: z
      .looseObject({ store: z.boolean(), created_at: z.int() })
      .optional()
      .describe(
        "OpenAI's Responses: what it repeats of its request; without `store` it cannot be found by its id",
      ),
    model: z.string().describe('as requested'),
    ignored: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('parts of the request that were left out: fields, server-side tools, images, documents'),
    messages: z.array(chatMessage).readonly(),
    tools: z.array(z.unknown()).readonly().optional(),
    answer: chatMessage,
    sampling: z.object({
      temperature: z.number().describe('as used; from generation_config if the client omitted it'),
      topP: z.number(),
      topK: z.int(),
      minP: z.number().optional(),
      maxTokens: z.int(),
      askedMaxTokens: z.int().optional().describe('what the client asked for, if it was clamped'),
      seed: z.int().optional(),
      stop: z.array(z.string()).readonly().optional(),
      stopTokenIds: z.array(z.int()).readonly().optional(),
    }),
    tokens: tokenRecord.nullable().describe('null: the engine returned none'),
    untrainable: z
      .string()
      .optional()
      .describe('a reason known to serving: penalties, no-token-ids, too-large ...'),
    version: z.int().min(0).describe('version that sampled every token of the answer'),
    engine: z.enum(['local', 'upstream']),
    windowCut: z
      .object({
        tools: z.int(),
        internalContext: z.int(),
        systemCharacters: z.int(),
        turns: z.int(),
        lastTurnMessages: z
          .int()
          .optional()
          .describe('in the last turn, between the words and the latest results'),
        lastTurnCharacters: z.int().optional().describe('characters cut from the last turn'),
        wrapperCharacters: z
          .int()
          .optional()
          .describe("of what clients add around a person's words: runtime lines, reminders"),
        systemBudget: z
          .int()
          .optional()
          .describe("tokens allowed for the system text, by the model's own limits or --system-budget"),
      })
      .optional()
      .describe("counts of what was cut to fit the model's own limits and its context"),
    templateInput: templateInput.optional(),
    finishReason: z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'aborted', 'error']),
    engineFinishReason: z
      .string()
      .optional()
      .describe("an upstream engine's finish reason, if it is not a known one"),
    disconnected: z.boolean().describe('the client disconnected before the end'),
    timing: z.object({ startedAt: z.string(), firstTokenMs: z.number().nullable(), totalMs: z.number() }),
    usage: z.object({
      promptTokens: z.int(),
      completionTokens: z.int(),
      cachedPromptTokens: z.int().optional().describe('prompt tokens whose keys and values were cached'),
    }),
    tooLarge: z.literal(true).optional().describe('written without bodies, which exceed the largest record'),
  }),
});
export type InteractionCompleted = EventOf<typeof InteractionCompleted>;
