import { type WishKind, wishes, wishKinds } from '../../../../shared/wishes/wishes.ts';
import { any } from './rule.ts';

/** A form, and what is wished by whoever wants it, or wants none of it. */
type Form = {
  readonly name: RegExp;
  readonly wanted?: WishKind;
  readonly unwanted?: WishKind;
};

const words = (...pieces: readonly string[]): RegExp => new RegExp(`\\b${any(...pieces)}\\b`, 'u');

/** The first that a piece names counts, so that "numbered list" is no plain list. */
const forms: readonly Form[] = [
  { name: words('numbered', 'steps', 'step by step'), wanted: 'steps', unwanted: 'no-list' },
  { name: words('lists?', 'listing', 'listings', 'bullet\\w*'), wanted: 'list', unwanted: 'no-list' },
  {
    name: words('greet\\w*', 'hellos?', 'hi', 'welcom\\w*'),
    wanted: 'greeting',
    unwanted: 'no-greeting',
  },
  {
    name: words(
      'closing (?:lines?|words|remarks?)|sign-?offs?|good wishes',
      '(?:friendly|kind|nice) (?:words|lines?|remarks?)',
    ),
    wanted: 'closing',
    unwanted: 'no-closing',
  },
  { name: words('apolog\\w*'), unwanted: 'no-apology' },
  { name: words('emojis?', 'smileys?'), wanted: 'emoji', unwanted: 'no-emoji' },
  { name: words('(?:closing|follow-?up) questions?'), unwanted: 'no-questions' },
  { name: words('markdown|formatting|bold|head(?:ing|er|line)s?'), unwanted: 'no-markdown' },
  {
    name: words(
      'fluff|filler|padding|preambles?|intros?|introductions?|pleasantries|small ?talk|chit ?chat|chatter',
      'ramble|rambling|disclaimers?|lectur(?:e|es|ing)',
    ),
    unwanted: 'only-answer',
  },
  { name: words('walls? of text', 'essays?'), unwanted: 'shorter' },
  { name: words('(?:an?|one|1|single) (?:\\w+ )?(?:sentence|line)'), wanted: 'one-sentence' },
  {
    name: words(
      '(?:plain|full|complete|normal|whole|running|proper) (?:sentences?|prose|paragraphs?)',
      'prose|paragraphs?|(?:in|write|want|use) sentences|^(?:please )?sentences',
    ),
    wanted: 'no-list',
  },
  { name: words('plain text'), wanted: 'no-markdown' },
];

const strongly =
  '(?:too|overly|unnecessarily|needlessly|so|very|way|rather|quite|awfully|pretty|kind of|a bit)';

/** What is said of the whole answer. */
const manners: readonly (readonly [WishKind, RegExp])[] = [
  [
    'shorter',
    words(
      'shorter|shorten|briefer|brief|briefly|concise|concisely|succinct|condense|trim|tighten|tighter',
      '(?:few|fewer|less) (?:words|sentences|lines|text|talk)|less (?:wordy|verbose|chatty)|a few sentences',
      'short (?:answers?|replies|responses?|version|sentences|reply|response|one)',
      '(?:be|keep (?:it|this|that)|make (?:it|this|that)|stay|answers?) short',
      `${strongly} (?:long|wordy|verbose|long-winded|detailed|much (?:text|detail|talk)|many words)`,
    ),
  ],
  ['longer', words('longer|more (?:\\w+ )?(?:details?|detailed)|(?:into|add) details?', `${strongly} short`)],
  [
    'simpler',
    words(
      'simpler|simplify|simply|plainer|(?:simple|simpler|plain) (?:words|terms)|simple (?:answers?|sentences)',
      'less (?:technical|complicated)',
      `${strongly} (?:complicated|complex|technical|abstract)`,
    ),
  ],
  ['casual', words('less formal|more casual', `${strongly} (?:formal|stiff)`)],
  ['formal', words('more formal|less casual', `${strongly} (?:informal|casual)`)],
  [
    'only-answer',
    words(
      'to the (?:point|chase)|more direct|more directly|(?:start|begin|open) (?:directly )?with the answer',
      `(?:just|only|simply|straight|directly) ${any('give me|tell me|to')}? ?(?:the )?(?:answer|facts?|result|number|word|name)`,
    ),
  ],
  ['only-code', words('(?:just|only) (?:give me |show me )?(?:the )?code')],
  ['no-list', words(`${strongly} many (?:lists|bullets)`)],
  ['no-emoji', words(`${strongly} many emojis`)],
  ['no-questions', words(`${strongly} many questions`)],
];

const refuses = words(
  'no|not|never|without|less|fewer|neither|nor|enough (?:with|of)|minus|zero|hate|dislike|instead of|rather than|why|another',
  'skip|stop|quit|avoid|drop|lose|cut|leave|omit|remove|spare|forget|ditch|rid of|tired of|sick of|loathe|detest',
);
/** A verb of its own says the direction again; a mere noun takes that of the piece before. */
const asks = words(
  'use|write|give|make|start|begin|open|answer|reply|add|want|need|like|prefer|put|format|be|only|just|do',
);

/**
 * The wishes of the table that one clause names, as the rules read it ("once more without the list"). None
 * where it names none, or names one with its contrary.
 *
 * @param refused the rule says that the form is unwanted, whatever the words are: "another list"
 */
export function namedWishes(clause: string, refused = false): readonly WishKind[] {
  const found = new Set<WishKind>(manners.filter(([, said]) => said.test(clause)).map(([kind]) => kind));
  let unwanted = refused;
  for (const piece of clause.split(/ (?:and|or|but) | (?=(?:nor|without|with no|instead of|not|no) )/)) {
    if (refuses.test(piece)) unwanted = true;
    else if (asks.test(piece)) unwanted = false;
    const form = forms.find(({ name }) => name.test(piece));
    const kind = unwanted ? form?.unwanted : form?.wanted;
    if (kind !== undefined) found.add(kind);
  }
  const kinds = wishKinds.filter((kind) => found.has(kind));
  return areContrary(kinds) ? [] : kinds;
}

/** Whether one of them cannot be met together with another. */
export const areContrary = (kinds: readonly WishKind[]): boolean =>
  kinds.some((kind) => kinds.some((other) => (wishes[kind].against as readonly string[]).includes(other)));
