import { hintOf, type WishKind, wishKinds } from '../../../../shared/wishes/wishes.ts';
import { SHORT_HINT } from '../../tally.ts';
import type { Evidence } from './evidence.ts';
import { formCorrections } from './form-corrections.ts';
import { areContrary, namedWishes } from './named-wishes.ts';

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;

/** These are told of a form that came and was not wanted: "another list", "why do you always apologise". */
const formComplaints = new Set(['why-such-form', 'another-such-form', 'why-did-you']);

/** Rules that a wish in words of the person's own may follow from, and what its clause must hold. */
const ownWords: ReadonlyMap<string, RegExp> = new Map([
  ...formCorrections.map(({ name }) => [name, /./] as const),
  // "I do not like it" says nothing of what would be liked
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
 * What the evidence against an answer says that the answer should have been. A wish of the table is told in the
 * table's words, so that "Too long." is enough; another one in the person's sentence. A complaint that names
 * no wish ("That is wrong.") gives no hint: as an instruction it would mean nothing, or the contrary.
 */
export function correctiveHint(evidence: readonly Evidence[]): string | undefined {
  const found = evidence.filter(({ weight }) => weight < 0).flatMap((one) => wishOf(one) ?? []);
  const known = new Set(found.flatMap((wish) => (wish.kind === 'known' ? wish.wishes : [])));
  // after "no greeting" it adds nothing
  if (known.size > 1 && evidence.some(({ on }) => on === 'just answer')) known.delete('only-answer');
  if (known.has('one-sentence')) known.delete('shorter');
  const kinds = wishKinds.filter((kind) => known.has(kind));
  if (found.every(({ kind }) => kind === 'known') && !areContrary(kinds)) return hintOf(kinds) || undefined;
  const sentences = new Set(found.map(({ sentence }) => sentence));
  const hint = [...sentences].join(' ').slice(0, HINT_LIMIT);
  return hint.length > SHORT_HINT ? hint : undefined;
}

function wishOf({ rule, on, sentence }: Evidence): Wish | undefined {
  if (sentence === '') return undefined;
  const language = rule === 'in-language' ? languageIn(on) : undefined;
  if (language !== undefined) return { kind: 'own', sentence: `Please answer in ${language}.` };
  const ofForm = formComplaints.has(rule);
  if (!ofForm && !corrections.has(rule)) return undefined;
  const wishes = namedWishes(on.replace(asked, ''), ofForm);
  if (wishes.length > 0) return { kind: 'known', wishes, sentence };
  return ownWords.get(rule)?.test(on) ? { kind: 'own', sentence } : undefined;
}

function languageIn(clause: string): string | undefined {
  const found =
    /\b(english|german|french|spanish|italian|dutch|portuguese|chinese|japanese|deutsch|my language)\b/.exec(
      clause,
    )?.[1];
  if (found === undefined || found === 'my language') return found;
  return found === 'deutsch' ? 'German' : `${found[0]!.toUpperCase()}${found.slice(1)}`;
}

/** What stands around a wish that is said again: "did I not say no lists". */
const asked =
  /^.*\bdid (?:i not|not i) (?:\w+ )?(?:say|tell you|ask(?: for)?|mention) | ?(?:do|did) you not .*$|^.*\bwhat part of /g;

const corrections: ReadonlySet<string> = new Set([
  ...ownWords.keys(),
  ...['just-answer', 'get-to-the-point', 'again', 'not-that-but', 'did-i-not-say'],
]);
