import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { ServingError } from '../errors.ts';
import { type Item, type ResponsesBody, readPart, referenceItem } from './fields.ts';
import { answerOfItem, firstOfKind, itemsOf } from './response-parts.ts';

/** The answers of these ids; what is not found is not in it. */
type FindAnswers = (
  answerIds: readonly string[],
) => Promise<ReadonlyMap<string, { readonly answer: ChatMessage }>>;

/**
 * Input whose references to items of earlier answers are replaced by the items. Vercel's SDK sends what it
 * was answered as references only.
 * @throws ServingError ITEM_NOT_FOUND, which names the place
 */
export async function withoutReferences(
  input: ResponsesBody['input'],
  find: FindAnswers,
): Promise<ResponsesBody['input']> {
  if (typeof input === 'string') return input;
  const references = input.flatMap((item, at) => (item.type === 'item_reference' ? [at] : []));
  if (references.length === 0) return input;
  const idAt = new Map(references.map((at) => [at, readPart(referenceItem, input[at], `input[${at}]`).id]));
  const answerIds = new Set([...idAt.values()].flatMap((id) => answerOfItem(id) ?? []));
  const found = await find([...answerIds]);
  const items = new Map<string, Item>();
  for (const [answerId, { answer }] of found)
    for (const item of itemsOf(answer, answerId)) items.set(item.id, item);
  const given = new Set<Item>();
  return input.flatMap((item, at): readonly Item[] => {
    const id = idAt.get(at);
    if (id === undefined) return [item];
    const referred = items.get(firstOfKind(id));
    if (referred === undefined) throw ServingError.ITEM_NOT_FOUND({ param: `input[${at}]`, id });
    if (id !== firstOfKind(id) && given.has(referred)) return [];
    given.add(referred);
    return [referred];
  });
}
