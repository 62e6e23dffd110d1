import { z } from 'zod';
import { chatMessage } from './chat-message.ts';

/**
 * Input of the chat template if it differs from the request, so that the prompt can be rebuilt, for example with a
 * hint. Absent fields are as in the request.
 */
export const templateInput = z.object({
  messages: z.array(chatMessage).readonly().optional().describe('those left after the window cut'),
  tools: z.array(z.unknown()).readonly().optional().describe('those left, or none if none may be called'),
  variables: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('other variables of the template, from the client'),
});
