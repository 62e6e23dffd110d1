import { hintOf, type WishKind, wishKinds } from '../../../../shared/wishes/wishes.ts';
import { SHORT_HINT } from '../../tally.ts';
import type { Evidence } from './evidence.ts';
import { areContrary, namedWishes } from './named-wishes.ts';
import { formCorrections } from './rules.ts';

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;

/** Rules about an unwanted form in the answer: "another list", "why do you always apologise". */
const formComplaints = new Set(['why-such-form', 'another-such-form', 'why-did-you']);

/** Rules whose clause may be a wish in the person's own words, and the pattern that the clause must match. */
const wishRules: ReadonlyMap<string, RegExp> = new Map([
  ...formCorrections.map(({ name }) => [name, /./] as const),
  // "I do not like it" does not say what the person would like
  ['i-dislike', /\b(?:how|when|the way|so (?:much|many|long)|lectur|welcom|your \w+ \w+)/],
  ['i-wish', /./],
  ['change-it', /./],
  ['it-should', /./],
  ['too-much', /./],
  ['rework', / (?:as|in|into|with|without|using|so) /],
  [
    'i-asked-for',
    /\b(?:asked|told you|meant|mean|wanted|said|requested|expected|looking for) (?!.*\b(?:twice|times|already|before)\b)(?:\w+ ?){2}/,
  ],
]);

type Wish =
  | { readonly kind: 'known'; readonly wishes: readonly WishKind[]; readonly sentence: string }
  | { readonly kind: 'own'; readonly sentence: string };

/**
 * The hint in the evidence against an answer. A known wish becomes the standard text of that wish, so "Too long." is
 * enough; any other wish becomes the person's sentence. A complaint without a wish ("That is wrong.") gives no hint:
 * as an instruction it would mean nothing, or the opposite.
 */
export function correctiveHint(evidence: readonly Evidence[]): string | undefined {
  const stated = evidence.filter(({ weight }) => weight < 0).flatMap((negative) => wishOf(negative) ?? []);
  const known = new Set(stated.flatMap((wish) => (wish.kind === 'known' ? wish.wishes : [])));
  // "just answer" adds nothing to "no greeting"
  if (known.size > 1 && evidence.some(({ on }) => on === 'just answer')) known.delete('only-answer');
  if (known.has('one-sentence')) known.delete('shorter');
  const kinds = wishKinds.filter((kind) => known.has(kind));
  if (stated.every(({ kind }) => kind === 'known') && !areContrary(kinds)) return hintOf(kinds) || undefined;
  const sentences = new Set(stated.map(({ sentence }) => sentence));
  const hint = [...sentences].join(' ').slice(0, HINT_LIMIT);
  return hint.length > SHORT_HINT ? hint : undefined;
}

function wishOf({ rule, on, sentence }: Evidence): Wish | undefined {
  if (sentence === '') return undefined;
  const language = rule === 'in-language' ? languageIn(on) : undefined;
  if (language !== undefined) return { kind: 'own', sentence: `Please answer in ${language}.` };
  const isFormComplaint = formComplaints.has(rule);
  if (!isFormComplaint && !corrections.has(rule)) return undefined;
  const wishes = namedWishes(on.replace(repetition, ''), isFormComplaint);
  if (wishes.length > 0) return { kind: 'known', wishes, sentence };
  return wishRules.get(rule)?.test(on) ? { kind: 'own', sentence } : undefined;
}

function languageIn(clause: string): string | undefined {
  const name =
    /\b(english|german|french|spanish|italian|dutch|portuguese|chinese|japanese|deutsch|my language)\b/.exec(
      clause,
    )?.[1];
  if (name === undefined || name === 'my language') return name;
  return name === 'deutsch' ? 'German' : `${name[0]!.toUpperCase()}${name.slice(1)}`;
}

/** The words around a repeated wish: "did I not say no lists". */
const repetition =
  /^.*\bdid (?:i not|not i) (?:\w+ )?(?:say|tell you|ask(?: for)?|mention) | ?(?:do|did) you not .*$|^.*\bwhat part of /g;

const corrections: ReadonlySet<string> = new Set([
  ...wishRules.keys(),
  'just-answer',
  'get-to-the-point',
  'again',
  'not-that-but',
  'did-i-not-say',
]);
