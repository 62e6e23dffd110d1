import { z } from 'zod';
import { chatMessage } from './chat-message.ts';
import { defineEvent, type EventOf } from './define-event.ts';
import { disagreement } from './disagreement.ts';
import { processTerms } from './process-terms.ts';
import { templateInput } from './template-input.ts';
import { tokenRecord } from './token-record.ts';

/** What a judge needs, and the token record. */
export const turnData = z.object({
  turnId: z.string().describe('the interaction id'),
  lane: z.string(),
  key: z.string().describe('id of the access key'),
  session: z.string(),
  epoch: z.string().describe('part of a session between two ends: id of its first event'),
  adapter: z.string(),
  version: z.int().min(0),
  settle: z.enum(['votes', 'reward']),
  rule: z.string().describe('rule that made it a main turn'),
  sessionBy: z.string().describe('how the session was found: explicit, history, prompt, new'),
  disagreement: disagreement.optional().describe('the content disagrees with the client'),
  messages: z.array(chatMessage).readonly(),
  tools: z.array(z.unknown()).readonly().optional(),
  templateInput: templateInput.optional(),
  answer: chatMessage,
  tokens: tokenRecord,
  next: z.array(chatMessage).readonly().describe('all messages after the answer, up to the next answer'),
  from: z.string().nullable().describe('the interaction that showed the next state'),
  by: z.string().describe('id of the event that completed it'),
  implies: z
    .enum(['regenerated', 'edited', 'kept'])
    .optional()
    .describe(
      'what the person did instead of speaking. regenerated: asked for another answer to the same request; edited: changed the request and sent it again; kept: continued from this answer, the last of several requested one after the other',
    ),
  process: processTerms
    .optional()
    .describe('of a rewarded session: the judge votes on this step; absent: it does not'),
});

/** A main turn and its next state, with what a judge needs and the token record. Id: `<turn>/completed`. */
export const TurnCompleted = defineEvent('turn.completed', 3, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: "A main turn's next state is known; or there is none, but feedback or the person's actions tell.",
  data: turnData,
});
export type TurnCompleted = EventOf<typeof TurnCompleted>;
