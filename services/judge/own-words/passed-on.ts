import { lexicalEvidence } from '../judges/signals/evidence.ts';
import { isForeignThenEnglish, isInTwoScripts } from './languages.ts';
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

/** A longer message is material with a word of the person's before it. Characters. */
const LONG = 900;
/** A first or last paragraph up to this length may be all that the person wrote. Characters. */
const SHORT_PARAGRAPH = 300;

/** Quotations that are looked behind; a text with more is not a person's. */
const MOST_SPANS = 16;

/**
 * The person's own words in a text: what stands before the first sign of a text that is only passed on, or
 * before a quotation that may end anywhere. Nobody marks where a pasted text ends, so nothing after it
 * counts; where it may stand first, nothing counts at all.
 */
export function beforePassedOn(text: string): string {
  let rest = unwrapped(text)
    .replace(/^\s*\n/, '')
    .trimEnd();
  if (endsLikeMail(rest)) return '';
  for (let spans = 0; spans < MOST_SPANS; spans += 1) {
    const span = firstSpan(rest);
    const before = span === undefined ? rest : rest.slice(0, span.from);
    const { words, isAll } = ownStart(before, rest);
    if (!isAll || span?.to === undefined) return standsFirst(rest) || isInTwoScripts(rest) ? '' : words;
    rest = `${before}${rest[span.to - 1] === '\n' ? '' : ' '}${rest.slice(span.to)}`;
  }
  return '';
}

/** The own words at the start of a text up to where it may be of others, and whether all of it is own. */
function ownStart(text: string, whole: string): { readonly words: string; readonly isAll: boolean } {
  const lines = text.split('\n');
  const foreign = lines.findIndex((line, index) => foreignLine(line.trim(), index === 0));
  const spoken = foreign === -1 ? lines : lines.slice(0, foreign);
  const { words, isAll } = leadOf(spoken.join('\n').trim(), isForeignThenEnglish(sentencesIn(whole)));
  if (whole.length <= LONG) return { words, isAll: isAll && foreign === -1 };
  return { words: beginningOf(words.split('\n')), isAll: isAll && foreign === -1 };
}

/** Of a long message the first paragraph, or the first sentence where that paragraph is long itself. */
function beginningOf(lines: readonly string[]): string {
  const [first = ''] = paragraphsOf(lines.join('\n').trim());
  return first.length <= SHORT_PARAGRAPH ? first : (sentencesIn(first)[0] ?? '');
}

/** Up to the first sentence that introduces another text, that sentence included. */
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

/** A longer line is not looked through for a reaction. Characters. */
const LONGEST_REACTION = 600;
const opener =
  /^\W{0,5}(?:no|nope|nah|yes|yeah|ok|okay|h+m+|well|ugh|argh|oh|oops|sorry|wait|actually|please)\W{0,10}$/i;

/**
 * Whether a line says what the person thinks of the answer. A line that does not may announce the next ones,
 * in any language: whose words those are is not known.
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

/** Whether a text that is passed on may stand before the person's request, which is the last paragraph then. */
function standsFirst(whole: string): boolean {
  const paragraphs = paragraphsOf(whole);
  const last = paragraphs.at(-1) ?? '';
  if (paragraphs.length < 2 || last.length > SHORT_PARAGRAPH) return false;
  return (whole.length > LONG && isRequest(last)) || introduces(sentencesIn(last)[0] ?? '');
}

const paragraphsOf = (text: string): readonly string[] =>
  text.split(/\n[ \t]*\n/).filter((paragraph) => paragraph.trim() !== '');
