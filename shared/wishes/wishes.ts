/**
 * Wishes about the form of an answer, each with the hint that expresses it. A judge that recognises a wish in any
 * wording returns this hint; a trainer that finds the hint knows how to measure whether an answer meets it.
 */
export const wishes = {
  'no-list': { hint: 'No lists, please.', against: ['list', 'steps'] },
  list: { hint: 'Please use bullet points.', against: ['no-list', 'one-sentence'] },
  steps: { hint: 'Please answer in numbered steps.', against: ['no-list', 'one-sentence'] },
  'no-greeting': { hint: 'No greeting, please.', against: ['greeting'] },
  greeting: { hint: 'Please start with a greeting.', against: ['no-greeting'] },
  'no-closing': { hint: 'No closing words, please.', against: ['closing'] },
  closing: { hint: 'Please end with kind words.', against: ['no-closing'] },
  'one-sentence': { hint: 'One short sentence, please.', against: ['list', 'steps', 'longer'] },
  shorter: { hint: 'A short answer, please.', against: ['longer'] },
  longer: { hint: 'More details, please.', against: ['shorter', 'one-sentence'] },
  'only-answer': { hint: 'Just the answer, please.', against: ['greeting', 'closing', 'longer'] },
  simpler: { hint: 'Please use simple words.', against: [] },
  formal: { hint: 'Please be formal.', against: ['casual'] },
  casual: { hint: 'Please be casual.', against: ['formal'] },
  'no-apology': { hint: 'Please do not apologise.', against: [] },
  'no-emoji': { hint: 'No emojis, please.', against: ['emoji'] },
  emoji: { hint: 'Please use emojis.', against: ['no-emoji'] },
  'no-questions': { hint: 'Please do not ask me questions at the end.', against: [] },
  'only-code': { hint: 'Only the code, please.', against: ['explain-code'] },
  'explain-code': { hint: 'Please explain the code.', against: ['only-code'] },
  example: { hint: 'Please give an example.', against: [] },
  'no-markdown': { hint: 'Plain text without markdown, please.', against: [] },
  'same-language': { hint: 'Please answer in my language.', against: [] },
} as const satisfies Readonly<Record<string, { readonly hint: string; readonly against: readonly string[] }>>;

export type WishKind = keyof typeof wishes;

export const wishKinds = Object.keys(wishes) as readonly WishKind[];

const byHint: ReadonlyMap<string, WishKind> = new Map(wishKinds.map((kind) => [wishes[kind].hint, kind]));

/** Joins the wishes of a message into one hint, in the order of the table. */
export const hintOf = (kinds: readonly WishKind[]): string =>
  wishKinds
    .filter((kind) => kinds.includes(kind))
    .map((kind) => wishes[kind].hint)
    .join(' ');

/** The wishes in a hint made by `hintOf`; none for own words. */
export function wishesIn(hint: string): readonly WishKind[] {
  const sentences = hint.split(/(?<=\.) /);
  const kinds = sentences.map((sentence) => byHint.get(sentence));
  return kinds.every((kind) => kind !== undefined) ? kinds : [];
}
