import {
  endOfAnnouncement,
  foreignLine,
  introduces,
  isForeignThenEnglish,
  isRequest,
  startOfReport,
} from './passed-on-cues.ts';
import { sentencesIn } from './sentences.ts';

/** A longer message is material with a word of the person's before it. Characters. */
const LONG = 900;
/** A first or last paragraph up to this length may be all that the person wrote. Characters. */
const SHORT_PARAGRAPH = 300;

/**
 * The person's own words in a text without quotations, code and tagged blocks: what stands before the first
 * sign of a text that is only passed on. Nobody marks where a pasted text ends, so nothing after it counts;
 * where it may stand first, nothing counts at all.
 */
export function beforePassedOn(text: string): string {
  const whole = text.trim();
  const lines = whole.split('\n');
  const foreign = lines.findIndex((line, index) => foreignLine(line.trim(), index === 0));
  const spoken = foreign === -1 ? lines : lines.slice(0, foreign);
  const lead = leadOf(whole.length > LONG ? beginningOf(spoken) : spoken.join('\n').trim());
  return standsFirst(whole) ? '' : lead;
}

/** Of a long message the first paragraph, or the first sentence where that paragraph is long itself. */
function beginningOf(lines: readonly string[]): string {
  const [first = ''] = paragraphsOf(lines.join('\n').trim());
  return first.length <= SHORT_PARAGRAPH ? first : (sentencesIn(first)[0] ?? '');
}

/** Up to the first sentence that introduces another text, that sentence included. */
function leadOf(text: string): string {
  const kept: string[] = [];
  const changesLanguage = isForeignThenEnglish(sentencesIn(text));
  for (const paragraph of paragraphsOf(text)) {
    for (const line of paragraph.split('\n')) {
      const { words, goesOn } = leadOfLine(line, changesLanguage && kept.length === 0);
      kept.push(words);
      if (!goesOn) return kept.join('\n').trim();
    }
    if (paragraph.trimEnd().endsWith('?')) break;
    kept.push('');
  }
  return kept.join('\n').trim();
}

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
