import { z } from 'zod';
import { chatMessage } from './chat-message.ts';

/**
 * What the chat template was given that is not as in the request, so that the prompt can be written again,
 * with a hint for instance. A field that is not there: the request's own.
 */
export const templateInput = z.object({
  messages: z
    .array(chatMessage)
    .readonly()
    .optional()
    .describe('those that were left where the window was cut'),
  tools: z
    .array(z.unknown())
    .readonly()
    .optional()
    .describe('those that were left, or none where none may be called'),
  variables: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('further variables of the template, as the client gave them'),
});
export type TemplateInput = z.output<typeof templateInput>;
