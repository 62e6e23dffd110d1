/** Of a sentence no more is looked at. Characters. */
const LOOK_AT = 300;

const english = new Set(
  (
    'the it is this that you i my your not do does did of to for with without and or but what why how when where who ' +
    'which can could would should are be have has had were from on at by as if then there here these those they them ' +
    'their we us our he she his her its all any some get got make made give write use stop keep try need want like ' +
    'love hate yes ok okay sorry well please thanks thank right good great nice perfect better short shorter long ' +
    'longer too more less list lists answer answers again still just only much very job work works worked error same ' +
    'sentence sentences greeting greetings emojis bullet points plain simple words text way never nothing exactly ' +
    "lovely awesome excellent brilliant terrible useless helpful explanation english wrong don't it's that's isn't"
  ).split(' '),
);

const wordsOf = (sentence: string): readonly string[] =>
  sentence
    .slice(0, LOOK_AT)
    .toLowerCase()
    .replaceAll('’', "'")
    .match(/[\p{L}']+/gu) ?? [];

/** Whether a person who does not write English goes over to it: what is English then is passed on. */
export function isForeignThenEnglish([first = '', ...others]: readonly string[]): boolean {
  const words = wordsOf(first);
  // a single word may be a name or an exclamation, unless English has no such letters
  const enough = /\P{ASCII}/u.test(words.join('')) ? 1 : first.trimEnd().endsWith(':') ? 2 : 3;
  if (words.length < enough || words.some((word) => english.has(word))) return false;
  return others.some((other) => new Set(wordsOf(other).filter((word) => english.has(word))).size >= 2);
}

const otherScript = /(?:(?=\P{Script=Latin})[\p{L}\p{M}]){2}/u;
const latinWords = /\p{Script=Latin}{2,}[^\p{L}\n]{1,5}\p{Script=Latin}{2,}/u;

/**
 * Whether a text is in two scripts: in one of them its words are a request, in the other what it is about,
 * and nothing tells which come first.
 */
export const isInTwoScripts = (text: string): boolean => otherScript.test(text) && latinWords.test(text);
