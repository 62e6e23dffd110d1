/*
 * What two requests must have in common to be the same one, beside their longer words: "5 miles" is not "8 miles", "C"
 * is not "C#", and "with" is not "without".
 */

/** Around a word. The signs of "C#", "+5" and "-" stay. */
const aroundWords = /^[.,;:!?¿¡"'()[\]«»„“”‘’…]+|[.,;:!?¿¡"'()[\]«»„“”‘’…]+$/gu;
const numbers = /\d+(?:[.,]\d+)*/g;
const operator = /^[-+*/×÷^=<>%]+$/;
/** A dash between two such words is a minus. */
const operand = /\d|^\p{L}$/u;
/** "C#", "C++" */
const wordWithSign = /^\p{L}+[#+]+$/u;
/** "C", "UK", "Go" */
const shortName = /^\p{Lu}\p{L}{0,2}$/u;
/** Capitalised words that are not names. */
const polite: ReadonlySet<string> = new Set(['i', 'sie', 'ihr', 'vd']);
const negations: ReadonlySet<string> = new Set(
  'not no without never cannot nicht nie ohne kein keine keinen keinem keiner sin nunca pas sans jamais não nao sem'.split(
    ' ',
  ),
);

/** "No, how long do I boil it?", "Can't you tell me how long I boil it?": these negations are not about the subject. */
const notAboutSubject =
  /^(?:no+|nope|nah|nein|non|não|nao)[\s,.!:;-]+(?=\S)|(?<!\p{L})(?:ca|could|wo|would)n['’]?t you(?!\p{L})|(?<!\p{L})(?:can|could|will|would) you not(?!\p{L})/giu;
/** Letters of a word that is likely to be about the subject. */
const LONG_WORD = 4;

type Marks = {
  /** all words, lower case */
  readonly words: ReadonlySet<string>;
  /** numbers, names of up to three letters, and words with a sign */
  readonly names: ReadonlySet<string>;
  readonly operators: string;
  /** the words of its negated sentences */
  readonly negated: readonly string[];
  /** the word after "from" */
  readonly origin: string | undefined;
};

/** Characters that are read of a request: words are compared with each other. */
const READ_LIMIT = 2000;

function marksOf(whole: string): Marks {
  const text = whole.slice(0, READ_LIMIT).normalize('NFKC').replace(notAboutSubject, ' ');
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
    operators: words
      .filter((word, at) => operator.test(word) && [words[at - 1], words[at + 1]].every(isOperand))
      .join(' '),
    origin: words.find((_, at) => at > 0 && /^(?:from|von|desde|depuis)$/.test(words[at - 1]!)),
    negated: text.split(/(?<=[.!?;])\s+/).flatMap((sentence) => {
      const parts = sentence
        .toLowerCase()
        .split(/\s+/)
        .map((word) => word.replace(aroundWords, ''));
      return parts.some((word) => negations.has(word) || /n['’]t$/.test(word)) ? parts : [];
    }),
  };
}

const isOperand = (word: string | undefined): boolean => word !== undefined && operand.test(word);

/** Whether a request negates something that the other request has, too. "You did not say." is about neither. */
const isNegatedAbout = ({ negated }: Marks, { words }: Marks): boolean =>
  negated.some((word) => word.length >= LONG_WORD && words.has(word));

/** Whether a request has a number, name, operator or negation that makes it another one. */
export function isMarkedOtherwise(request: string, next: string): boolean {
  const [before, after] = [marksOf(request), marksOf(next)];
  return (
    [...after.names].some((name) => !before.words.has(name)) ||
    [...after.words].some((word) => isLookalike(word, before.words)) ||
    before.operators !== after.operators ||
    isNegatedAbout(before, after) !== isNegatedAbout(after, before) ||
    (before.origin !== undefined && after.origin !== undefined && before.origin !== after.origin)
  );
}

/** Leading letters by which words are compared. */
export const STEM = 5;
/** Most letters by which the endings of two forms of a word differ. */
const ENDING = 3;

/** "Austria" beside "Australia": the first letters are the same, but it is a different word. */
function isLookalike(word: string, words: ReadonlySet<string>): boolean {
  if (word.length <= STEM || words.has(word) || withoutSpaces.test(word)) return false;
  const alike = [...words].filter((other) => other.length > STEM && other.startsWith(word.slice(0, STEM)));
  return alike.length > 0 && alike.every((other) => !isForm(word, other));
}

/** A script that does not part words: a whole sentence looks like a word. */
const withoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

function isForm(one: string, other: string): boolean {
  let same = STEM;
  while (same < one.length && one[same] === other[same]) same += 1;
  return one.length - same <= ENDING && other.length - same <= ENDING;
}

/**
 * Whether two of the terms that both have changed places: "100 euros in dollars" is not "100 dollars in euros". A request
 * in another order moves more of them.
 */
export function isSwapped(before: ReadonlySet<string>, after: ReadonlySet<string>): boolean {
  const [first, next] = [
    [...before].filter((term) => after.has(term)),
    [...after].filter((term) => before.has(term)),
  ];
  return first.filter((term, at) => next[at] !== term).length === 2;
}

/** Whether a pattern that asks for more matches words that the request did not have already. */
export function asksNewly(asksForMore: RegExp, request: string, next: string): boolean {
  const before = request.toLowerCase();
  const all = new RegExp(asksForMore.source, `${asksForMore.flags.replace('g', '')}g`);
  return [...next.toLowerCase().matchAll(all)].some(([words]) => !before.includes(words));
}
