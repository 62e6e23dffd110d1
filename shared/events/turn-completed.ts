import { z } from 'zod';
import { chatMessage } from './chat-message.ts';
import { defineEvent, type EventOf } from './define-event.ts';
import { disagreement } from './disagreement.ts';
import { templateInput } from './template-input.ts';
import { tokenRecord } from './token-record.ts';

/**
 * A main-line turn and what came next. Holds what a judge needs and the token record. Id: `<turn>/completed`.
 */
export const TurnCompleted = defineEvent('turn.completed', 1, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: "A main turn's next state is known, or its session ended with feedback on it.",
  data: z.object({
    turnId: z.string().describe('the interaction id'),
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    epoch: z.string().describe('the part of a session between two closings: id of its first event'),
    adapter: z.string(),
    version: z.int().min(0),
    settle: z.enum(['votes', 'reward']),
    rule: z.string().describe('the rule that made it a main turn'),
    sessionBy: z.string().describe('how the session was found: explicit, history, prompt, new'),
    disagreement: disagreement.optional().describe('where the content tells something else than the client'),
    messages: z.array(chatMessage).readonly(),
    tools: z.array(z.unknown()).readonly().optional(),
    templateInput: templateInput.optional(),
    answer: chatMessage,
    tokens: tokenRecord,
    next: z.array(chatMessage).readonly().describe('all messages after the answer up to the next answer'),
    from: z.string().nullable().describe('the interaction that showed the next state'),
    by: z.string().describe('id of the event that completed it'),
  }),
});
export type TurnCompleted = EventOf<typeof TurnCompleted>;
