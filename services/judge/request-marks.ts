/*
 * What two requests must have in common to be the same one, beside their longer words: "5 miles" is not "8 miles", "C"
 * is not "C#", and "with" is not "without".
 */

/** Around a word. The signs of "C#", "+5" and "-" stay. */
const aroundWords = /^[.,;:!?¿¡"'()[\]«»„“”‘’…]+|[.,;:!?¿¡"'()[\]«»„“”‘’…]+$/gu;
const numbers = /\d+(?:[.,]\d+)*/g;
const operator = /^[-+*/×÷^=<>%]+$/;
/** "C#", "C++" */
const wordWithSign = /^\p{L}+[#+]+$/u;
/** "C", "UK", "Go" */
const shortName = /^\p{Lu}\p{L}{0,2}$/u;
/** Capitals that are no names. */
const polite: ReadonlySet<string> = new Set(['i', 'sie', 'ihr', 'vd']);
const negations: ReadonlySet<string> = new Set(
  'not no without never cannot nicht nie ohne kein keine keinen keinem keiner sin nunca pas sans jamais não nao sem'.split(
    ' ',
  ),
);

type Marks = {
  /** all words, lower case */
  readonly words: ReadonlySet<string>;
  /** numbers, names of up to three letters, and words with a sign */
  readonly names: ReadonlySet<string>;
  readonly operators: string;
  readonly isNegated: boolean;
  /** the word after "from" */
  readonly origin: string | undefined;
};

/** Characters that are read of a request: words are compared with each other. */
const READ_LIMIT = 2000;

function marksOf(whole: string): Marks {
  const text = whole.slice(0, READ_LIMIT).normalize('NFKC');
  const tokens = text
    .split(/\s+/)
    .map((token) => ({ word: token.replace(aroundWords, ''), ends: /[.!?:]["')]*$/.test(token) }))
    .filter(({ word }) => word !== '');
  // In capitals throughout, short words are no names.
  const hasNames = /\p{Ll}/u.test(text);
  const words = tokens.map(({ word }) => word.toLowerCase());
  const names = tokens.flatMap(({ word }, at) => {
    const begins = at === 0 || tokens[at - 1]!.ends;
    const isName = hasNames && !begins && shortName.test(word) && !polite.has(words[at]!);
    return isName || wordWithSign.test(word) ? [words[at]!] : (word.match(numbers) ?? []);
  });
  return {
    words: new Set([...words, ...names]),
    names: new Set(names),
    operators: words.filter((word) => operator.test(word)).join(' '),
    origin: words.find((_, at) => at > 0 && /^(?:from|von|desde|depuis)$/.test(words[at - 1]!)),
    isNegated: words.some((word) => negations.has(word) || /n['’]t$/.test(word)),
  };
}

/** Whether a request has a number, name, operator or negation that makes it another one. */
export function isMarkedOtherwise(request: string, next: string): boolean {
  const [before, after] = [marksOf(request), marksOf(next)];
  return (
    [...after.names].some((name) => !before.words.has(name)) ||
    [...after.words].some((word) => isLookalike(word, before.words)) ||
    before.operators !== after.operators ||
    before.isNegated !== after.isNegated ||
    (before.origin !== undefined && after.origin !== undefined && before.origin !== after.origin)
  );
}

/** First letters that tell a word for a comparison of requests. */
export const STEM = 5;
/** Letters in which two forms of a word differ at its end. */
const ENDING = 3;

/** "Austria" beside "Australia": the first letters are the same, but it is no other form of the word. */
function isLookalike(word: string, words: ReadonlySet<string>): boolean {
  if (word.length <= STEM || words.has(word)) return false;
  const alike = [...words].filter((other) => other.length > STEM && other.startsWith(word.slice(0, STEM)));
  return alike.length > 0 && alike.every((other) => !isForm(word, other));
}

function isForm(one: string, other: string): boolean {
  let same = STEM;
  while (same < one.length && one[same] === other[same]) same += 1;
  return one.length - same <= ENDING && other.length - same <= ENDING;
}

/** Whether the terms that both have come in the same order: "100 euros in dollars" is not "100 dollars in euros". */
export function isInOrder(before: readonly string[], after: readonly string[]): boolean {
  const placeOf = new Map(before.map((term, place) => [term, place]));
  const places = after.flatMap((term) => placeOf.get(term) ?? []);
  return places.every((place, at) => at === 0 || places[at - 1]! <= place);
}

/** Whether a pattern that asks for more matches words that the request did not have already. */
export function asksNewly(asksForMore: RegExp, request: string, next: string): boolean {
  const before = request.toLowerCase();
  const all = new RegExp(asksForMore.source, `${asksForMore.flags.replace('g', '')}g`);
  return [...next.toLowerCase().matchAll(all)].some(([words]) => !before.includes(words));
}
