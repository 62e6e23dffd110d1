import { z } from 'zod';
import { chatMessage } from './chat-message.ts';
import { defineEvent, type EventOf } from './define-event.ts';
import { templateInput } from './template-input.ts';
import { tokenRecord } from './token-record.ts';

/**
 * One request that was answered. Holds everything that training will ever need. Id: the completion id that
 * the client saw.
 */
export const InteractionCompleted = defineEvent('interaction.completed', 2, {
  topic: 'conversations',
  key: (interaction) => interaction.lane,
  writtenBy: 'serving',
  about: 'A request was answered, whole or in part.',
  data: z.object({
    interactionId: z.string().describe('the completion id'),
    requestId: z.string(),
    api: z.enum(['chat', 'responses', 'messages']),
    lane: z.string().describe('short hash of what the envelope alone can tell: access key, explicit session'),
    key: z.string().describe('id of the access key; nothing is ever matched across keys'),
    adapter: z.string(),
    live: z.boolean().describe('false for @base and pinned versions, which make no turns'),
    settle: z.enum(['votes', 'reward']).describe('what settles its turn'),
    session: z.string().optional().describe('explicit session id, if the client sent one'),
    turnType: z.enum(['main', 'side']).optional().describe('explicit turn type, if the client sent one'),
    user: z.string().optional().describe('the person, as the client calls them: a hint at the session'),
    response: z
      .looseObject({ store: z.boolean(), created_at: z.int() })
      .optional()
      .describe(
        "of OpenAI's Responses: what it says back of its request; without `store` none finds it by its id",
      ),
    model: z.string().describe('as asked for'),
    ignored: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('what of the request was left out: fields, tools that a server would run, images'),
    messages: z.array(chatMessage).readonly(),
    tools: z.array(z.unknown()).readonly().optional(),
    answer: chatMessage,
    sampling: z.object({
      temperature: z.number().describe('as used; from generation_config when the client left it out'),
      topP: z.number(),
      topK: z.int(),
      minP: z.number().optional(),
      maxTokens: z.int(),
      askedMaxTokens: z.int().optional().describe('what the client asked for, where it was clamped'),
      seed: z.int().optional(),
      stop: z.array(z.string()).readonly().optional(),
      stopTokenIds: z.array(z.int()).readonly().optional(),
    }),
    tokens: tokenRecord.nullable().describe('null: the engine gave none'),
    untrainable: z
      .string()
      .optional()
      .describe('a reason known to serving: penalties, no-token-ids, too-large ...'),
    version: z.int().min(0).describe('policy version that sampled every token of the answer'),
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
          .describe('of the last turn, between the words and the latest results'),
        lastTurnCharacters: z.int().optional().describe('of the texts of the last turn'),
        wrapperCharacters: z
          .int()
          .optional()
          .describe("of what clients write around a person's words: lines on the runtime, reminders"),
        systemBudget: z
          .int()
          .optional()
          .describe("tokens that the system text could have, by the model's own limits or --system-budget"),
      })
      .optional()
      .describe("what was cut to fit the model's own limits and its context: counts"),
    templateInput: templateInput.optional(),
    finishReason: z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'aborted', 'error']),
    engineFinishReason: z
      .string()
      .optional()
      .describe("an upstream engine's own word for how it ended, where that is none of the known ones"),
    disconnected: z.boolean().describe('the client went away before the end'),
    timing: z.object({ startedAt: z.string(), firstTokenMs: z.number().nullable(), totalMs: z.number() }),
    usage: z.object({
      promptTokens: z.int(),
      completionTokens: z.int(),
      cachedPromptTokens: z
        .int()
        .optional()
        .describe('of the prompt, those whose keys and values were known from an earlier request'),
    }),
    tooLarge: z.literal(true).optional().describe('written without bodies: they exceed the largest record'),
  }),
});
export type InteractionCompleted = EventOf<typeof InteractionCompleted>;
