import { asksNewly, isMarkedOtherwise, isSwapped } from '../../request-marks.ts';
import { normalise } from './clauses.ts';

/** Words without a subject. */
const stopWords = new Set(
  (
    'a an the of to in on at for from by with and or but is are was were be been am do does did not no ' +
    'i me my you your we our it its this that these those what how why when where who which can could ' +
    'would will shall should may might must please just so want need like know tell give show say get ' +
    'let ask asked mean meant question answer really about if then there here have has had some any all ' +
    'up out as into again still also now ok okay hey hi hello well go going make help'
  ).split(' '),
);
/** Words that ask for more of the same, which is no complaint. */
const asksForMore =
  /\b(?:another|more|next|other|else|different|new|one more|second|third|continue|instead of)\b/;

/** Minimum content words; with fewer, two requests are alike by chance. */
const LEAST_WORDS = 2;
/** Minimum share of the earlier request's content words in the later one. */
const LEAST_OVERLAP = 0.6;

/** Whether a request repeats an earlier one: it has no new content words and most of the earlier ones. */
export function isRepeatedRequest(request: string, next: string): boolean {
  if (asksNewly(asksForMore, normalise(request), normalise(next)) || isMarkedOtherwise(request, next))
    return false;
  const before = contentWords(request);
  const after = contentWords(next);
  if (after.size < LEAST_WORDS || ![...after].every((word) => before.has(word))) return false;
  return after.size / before.size >= LEAST_OVERLAP && !isSwapped(before, after);
}

/** The content words of a text, in order. */
const contentWords = (text: string): ReadonlySet<string> =>
  new Set(
    normalise(text)
      .split(/[\s'-]+/)
      .filter((word) => word !== '' && !stopWords.has(word))
      .map(stem),
  );

/** The same stem for "boil", "boils", "boiling" and "boiled". */
const stem = (word: string): string => (word.length > 3 ? word.replace(/(?:ing|ed|es|s)$/, '') : word);
