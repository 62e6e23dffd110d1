import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { ServingError } from '../errors.ts';
import { type Item, type ResponsesBody, readPart, referenceItem } from './fields.ts';
import { answerOfItem, itemsOf } from './response-parts.ts';

/** What was said up to these answers and with them; what is not found is not in it. */
export type FindConversations = (
  answerIds: readonly string[],
) => Promise<ReadonlyMap<string, readonly ChatMessage[]>>;

/**
 * Input whose references to items of earlier answers are replaced by the items. Vercel's SDK sends what it
 * was answered as references only.
 * @throws ServingError ITEM_NOT_FOUND, which names the place
 */
export async function withoutReferences(
  input: ResponsesBody['input'],
  find: FindConversations,
): Promise<ResponsesBody['input']> {
  if (typeof input === 'string') return input;
  const references = input.flatMap((item, at) => (item.type === 'item_reference' ? [at] : []));
  if (references.length === 0) return input;
  const idAt = new Map(references.map((at) => [at, readPart(referenceItem, input[at], `input[${at}]`).id]));
  const answerIds = new Set([...idAt.values()].flatMap((id) => answerOfItem(id) ?? []));
  const found = await find([...answerIds]);
  const items = new Map<string, Item>();
  for (const [answerId, messages] of found)
    for (const item of itemsOf(messages.at(-1)!, answerId)) items.set(item.id, item);
  return input.map((item, at) => {
    const id = idAt.get(at);
    if (id === undefined) return item;
    const referred = items.get(id);
    if (referred === undefined) throw ServingError.ITEM_NOT_FOUND({ param: `input[${at}]`, id });
    return referred;
  });
}
