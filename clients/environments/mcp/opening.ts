import { z } from 'zod';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { OpeningMessage } from '../environment.ts';

const text = z.string().min(1);
const Opening = z.looseObject({
  messages: z
    .array(z.object({ role: z.enum(['system', 'user']), content: text }))
    .min(1)
    .optional(),
  prompt: text.optional(),
  question: text.optional(),
  instruction: text.optional(),
});

/**
 * The messages that begin the conversation at a task: its `messages`, or its `prompt`, `question` or `instruction`.
 *
 * @throws UsageError when the task has none of them
 */
export function openingOf(data: unknown, name = 'the task'): readonly OpeningMessage[] {
  const parsed = Opening.safeParse(data);
  if (!parsed.success) throw new UsageError(`${name}: ${z.prettifyError(parsed.error)}`);
  const { messages, prompt, question, instruction } = parsed.data;
  if (messages !== undefined) return messages;
  const content = prompt ?? question ?? instruction;
  if (content === undefined)
    throw new UsageError(`${name} needs \`prompt\`, \`question\`, \`instruction\` or \`messages\``);
  return [{ role: 'user', content }];
}
