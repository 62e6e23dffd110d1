import { z } from 'zod';

/** A part of a message's content in OpenAI's chat API. Unknown kinds are kept unchanged. */
const contentPart = z.looseObject({ type: z.string(), text: z.string().optional() });

export const toolCall = z.looseObject({
  id: z.string().optional(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

/** A message of the OpenAI chat API. Unknown fields are kept, because the log records the original. */
export const chatMessage = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(contentPart), z.null()]).optional(),
  name: z.string().optional(),
  tool_calls: z.array(toolCall).optional(),
  tool_call_id: z.string().optional(),
  reasoning_content: z.string().nullish(),
});
export type ChatMessage = z.output<typeof chatMessage>;
export type ContentPart = z.output<typeof contentPart>;
export type ToolCall = z.output<typeof toolCall>;
