import { type WishKind, wishes, wishKinds } from '../../../../shared/wishes/wishes.ts';
import { compilePhrase, type PhraseEntry, readPhrases } from './phrase-file.ts';

/** A form, and the wish of a person who wants it or does not want it. */
type Form = {
  readonly pattern: RegExp;
  readonly wanted: WishKind | undefined;
  readonly unwanted: WishKind | undefined;
};

type WishPhrases = {
  /** The first one that a piece names counts: "numbered list" is not a plain list. */
  readonly forms: readonly Form[];
  /** what a person says about the whole answer */
  readonly manners: readonly { readonly kind: WishKind; readonly pattern: RegExp }[];
  /** words that refuse the form behind them */
  readonly refuses: RegExp;
  /** Verbs that ask for the form behind them. A noun alone keeps the direction of the piece before it. */
  readonly asks: RegExp;
};

/** Words in the head line of each kind of entry. */
const headLengths: Readonly<Record<string, number>> = { form: 3, manner: 2, refuses: 1, asks: 1 };

const words = ({ pattern, at }: PhraseEntry): RegExp => compilePhrase(`\\b(?:${pattern})\\b`, at);

/** undefined: `-`, no wish */
function wishNamed(name: string, at: string): WishKind | undefined {
  if (name === '-') return undefined;
  const kind = wishKinds.find((known) => known === name);
  if (kind === undefined) throw new Error(`${at}: unknown wish "${name}"`);
  return kind;
}

const { forms, manners, refuses, asks } = wishPhrasesOf(readPhrases('wishes.txt').entries);

/** @throws Error when an entry is none of these kinds, or `refuses` or `asks` is missing */
export function wishPhrasesOf(entries: readonly PhraseEntry[]): WishPhrases {
  const ofKind = (kind: string) => entries.filter(({ head }) => head[0] === kind);
  const only = (kind: string): RegExp => {
    const [entry, second] = ofKind(kind);
    if (entry === undefined) throw new Error(`wishes.txt: no entry "${kind}"`);
    if (second !== undefined) throw new Error(`${second.at}: a second entry "${kind}"`);
    return words(entry);
  };
  for (const { head, at } of entries)
    if (headLengths[head[0]!] !== head.length)
      throw new Error(`${at}: expected "form WANTED UNWANTED", "manner WISH", "refuses" or "asks"`);
  return {
    forms: ofKind('form').map((entry) => ({
      pattern: words(entry),
      wanted: wishNamed(entry.head[1]!, entry.at),
      unwanted: wishNamed(entry.head[2]!, entry.at),
    })),
    manners: ofKind('manner').flatMap((entry) => {
      const kind = wishNamed(entry.head[1]!, entry.at);
      return kind === undefined ? [] : [{ kind, pattern: words(entry) }];
    }),
    refuses: only('refuses'),
    asks: only('asks'),
  };
}
/**
 * The known wishes that a clause names ("once more without the list"). Empty if it names none, or two that contradict
 * each other.
 *
 * @param refused the form is unwanted whatever the words are, as in "another list"
 */
export function namedWishes(clause: string, refused = false): readonly WishKind[] {
  const named = new Set<WishKind>(
    manners.filter(({ pattern }) => pattern.test(clause)).map(({ kind }) => kind),
  );
  let unwanted = refused;
  for (const piece of clause.split(/ (?:and|or|but) | (?=(?:nor|without|with no|instead of|not|no) )/)) {
    if (refuses.test(piece)) unwanted = true;
    else if (asks.test(piece)) unwanted = false;
    const form = forms.find(({ pattern }) => pattern.test(piece));
    const kind = unwanted ? form?.unwanted : form?.wanted;
    if (kind !== undefined) named.add(kind);
  }
  const kinds = wishKinds.filter((kind) => named.has(kind));
  return areContrary(kinds) ? [] : kinds;
}

/** Whether two of these wishes contradict each other. */
export const areContrary = (kinds: readonly WishKind[]): boolean =>
  kinds.some((kind) => kinds.some((other) => (wishes[kind].against as readonly string[]).includes(other)));
