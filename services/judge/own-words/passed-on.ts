import { lexicalEvidence } from '../judges/signals/evidence.ts';
import {
  endOfAnnouncement,
  endsLikeMail,
  foreignLine,
  introduces,
  isRequest,
  startOfReport,
} from './passed-on-cues.ts';
import { firstSpan } from './quoted-text.ts';
import { sentencesIn } from './sentences.ts';
import { unwrapped } from './wrapped-words.ts';

/** A longer message is material with a few own words before it. Characters. */
const LONG = 900;
/** Maximum length of a first or last paragraph that may be all of the person's own words. Characters. */
const SHORT_PARAGRAPH = 300;

/** Maximum quotations within own words; a text with more is not a person's. */
const MOST_SPANS = 16;

/**
 * The person's own words in a text: everything before the first sign of a passed-on text, or before a quotation
 * without a certain end. Nothing marks the end of a pasted text, so nothing after it counts. If the passed-on text
 * may come first, nothing counts at all.
 */
export function beforePassedOn(text: string): string {
  let remaining = unwrapped(text)
    .replace(/^\s*\n/, '')
    .trimEnd();
  if (endsLikeMail(remaining)) return '';
  for (let spans = 0; spans < MOST_SPANS; spans += 1) {
    const span = firstSpan(remaining);
    const before = span === undefined ? remaining : remaining.slice(0, span.from);
    const { words, isAll } = ownStart(before, remaining);
    if (!isAll || span?.to === undefined)
      return passedOnMayComeFirst(remaining) || isInTwoScripts(remaining) ? '' : words;
    remaining = `${before}${remaining[span.to - 1] === '\n' ? '' : ' '}${remaining.slice(span.to)}`;
  }
  return '';
}

/** The own words at the start of a text, and whether they are all of it. */
function ownStart(text: string, whole: string): { readonly words: string; readonly isAll: boolean } {
  const lines = text.split('\n');
  const foreign = lines.findIndex((line, index) => foreignLine(line.trim(), index === 0));
  const ownLines = foreign === -1 ? lines : lines.slice(0, foreign);
  const { words, isAll } = leadOf(ownLines.join('\n').trim(), isForeignThenEnglish(sentencesIn(whole)));
  if (whole.length <= LONG) return { words, isAll: isAll && foreign === -1 };
  return { words: beginningOf(words.split('\n')), isAll: isAll && foreign === -1 };
}

/** The first paragraph, or its first sentence if that paragraph is long. */
function beginningOf(lines: readonly string[]): string {
  const [first = ''] = paragraphsOf(lines.join('\n').trim());
  return first.length <= SHORT_PARAGRAPH ? first : (sentencesIn(first)[0] ?? '');
}

/** The words up to and including the first sentence that introduces another text. */
function leadOf(text: string, changesLanguage: boolean): { readonly words: string; readonly isAll: boolean } {
  const kept: string[] = [];
  const paragraphs = paragraphsOf(text);
  for (const [index, paragraph] of paragraphs.entries()) {
    const isLast = index === paragraphs.length - 1;
    const lines = paragraph.split('\n');
    for (const [at, line] of lines.entries()) {
      const { words, goesOn } = leadOfLine(line, changesLanguage && kept.length === 0);
      kept.push(words);
      const isEnd = isLast && at === lines.length - 1;
      if (!goesOn || (!isEnd && !isReaction(line))) return { words: kept.join('\n').trim(), isAll: false };
    }
    if (paragraph.trimEnd().endsWith('?') && !isLast) return { words: kept.join('\n').trim(), isAll: false };
    kept.push('');
  }
  return { words: kept.join('\n').trim(), isAll: true };
}

/** A longer line is not searched for a reaction. Characters. */
const LONGEST_REACTION = 600;
const opener =
  /^\W{0,5}(?:no|nope|nah|yes|yeah|ok|okay|h+m+|well|ugh|argh|oh|oops|sorry|wait|actually|please)\W{0,10}$/i;

/**
 * Whether a line is a reaction to the answer. Any other line may announce the next ones, in any language, so the
 * author of those is unknown.
 */
const isReaction = (line: string): boolean =>
  opener.test(line) || (line.length <= LONGEST_REACTION && lexicalEvidence(line).length > 0);

/** @param oneSentence whether no more than the first sentence of the line may count */
function leadOfLine(
  line: string,
  oneSentence: boolean,
): { readonly words: string; readonly goesOn: boolean } {
  let words = '';
  for (const sentence of sentencesIn(line)) {
    const ends = [endOfAnnouncement(sentence), startOfReport(sentence)].filter((end) => end !== -1);
    const lead = ends.length === 0 ? sentence : sentence.slice(0, Math.min(...ends));
    words += lead;
    if (ends.length > 0 || introduces(lead) || oneSentence) return { words, goesOn: false };
  }
  return { words, goesOn: true };
}

/** Whether a passed-on text may come before the person's request, which is then the last paragraph. */
function passedOnMayComeFirst(whole: string): boolean {
  const paragraphs = paragraphsOf(whole);
  const last = paragraphs.at(-1) ?? '';
  if (paragraphs.length < 2 || last.length > SHORT_PARAGRAPH) return false;
  return (whole.length > LONG && isRequest(last)) || introduces(sentencesIn(last)[0] ?? '');
}

const paragraphsOf = (text: string): readonly string[] =>
  text.split(/\n[ \t]*\n/).filter((paragraph) => paragraph.trim() !== '');

/** Maximum characters that are read of a sentence. */
const SENTENCE_LIMIT = 300;

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
    .slice(0, SENTENCE_LIMIT)
    .toLowerCase()
    .replaceAll('’', "'")
    .match(/[\p{L}']+/gu) ?? [];

/** Whether a text begins in another language and continues in English, which is then passed on. */
function isForeignThenEnglish([first = '', ...others]: readonly string[]): boolean {
  const words = wordsOf(first);
  // one word may be a name or an exclamation, unless it has letters that English lacks
  const minimum = /\P{ASCII}/u.test(words.join('')) ? 1 : first.trimEnd().endsWith(':') ? 2 : 3;
  if (words.length < minimum || words.some((word) => english.has(word))) return false;
  return others.some((other) => new Set(wordsOf(other).filter((word) => english.has(word))).size >= 2);
}

const otherScript = /(?:(?=\P{Script=Latin})[\p{L}\p{M}]){2}/u;
const latinWords = /\p{Script=Latin}{2,}[^\p{L}\n]{1,5}\p{Script=Latin}{2,}/u;

/** Whether a text is in two scripts. One part may be a request and the other its material, in any order. */
const isInTwoScripts = (text: string): boolean => otherScript.test(text) && latinWords.test(text);
