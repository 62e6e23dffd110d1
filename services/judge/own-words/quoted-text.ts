/*
 * A quoted text may contain the marks that quote it, and clients escape nothing. So a mark ends a quotation only if
 * no other mark could; otherwise the end is unknown.
 */

/** A quoted part of a text. */
export type Span = {
  readonly from: number;
  /** undefined: the end is unknown */
  readonly to: number | undefined;
};

/** Consecutive quoted, table or indented lines; each line has its own mark. */
const quotedLines = /(?:^(?:[ \t]{0,3}[>|]| {4}|\t)[^\n]*(?:\n|$))+/m;

function linesOfQuote(text: string): Span | undefined {
  const match = quotedLines.exec(text);
  return match === null ? undefined : { from: match.index, to: match.index + match[0].length };
}

/** The first quotation in a text: quoted lines, a tagged block, a code block, quotation marks or inline code. */
export function firstSpan(text: string): Span | undefined {
  const spans = [linesOfQuote, angled, bracketed, openEndedSpan, ...pairs].map((find) => find(text));
  const span = spans.reduce((first, next) =>
    first === undefined || (next && next.from < first.from) ? next : first,
  );
  const closing = closingTag.exec(text);
  // text before an unopened closing tag may belong to its block
  return closing !== null && closing.index <= (span?.from ?? text.length) ? { from: 0, to: undefined } : span;
}

/** Any opening tag: `<doc>`, `<1>`, `<_doc>`, `<|doc|>`. */
const openingTag = /<([^\s<>/=][^\s<>]*)(?:\s[^<>]*)?>/;
/** `[quote]`, `[quote=Ann]`. A tag only if the text closes it, since brackets also contain remarks. */
const openingBracket = /\[([a-zA-Z][\w-]{0,40})(?:[ =][^\]\n]{0,80})?\]/g;
const closingTag = /<\s?\/\s?[^\s<>]|\[\/[^\s\]]/;

/** Comments, CDATA and processing instructions of XML, environments of LaTeX, colours of a terminal. */
const startOfNoPair = /<[!?%]|\\begin\s?\{|\p{Cc}/u;

function openEndedSpan(text: string): Span | undefined {
  const from = text.replace(/[\n\t]/g, ' ').search(startOfNoPair);
  return from === -1 ? undefined : { from, to: undefined };
}

type Tag = { readonly from: number; readonly to: number; readonly open: string; readonly close: string };

function angled(text: string): Span | undefined {
  const match = openingTag.exec(text);
  if (match === null) return undefined;
  const { index: from, 0: open, 1: name } = match;
  return blockOf(text, { from, to: from + open.length, open: `<${name}`, close: `</${name}` });
}

function bracketed(text: string): Span | undefined {
  if (!text.includes('[/')) return undefined;
  for (const { index: from, 0: open, 1: name } of text.matchAll(openingBracket))
    if (text.includes(`[/${name}`))
      return blockOf(text, { from, to: from + open.length, open: `[${name}`, close: `[/${name}` });
  return undefined;
}

function blockOf(text: string, { from, to, open, close }: Tag): Span {
  const behind = text.slice(to);
  const [opens, closes] = [placesOf(behind, open), placesOf(behind, close)];
  const end = closes.length === 1 ? behind.indexOf(open.startsWith('<') ? '>' : ']', closes[0]!) : -1;
  return { from, to: opens.length === 0 && end !== -1 ? to + end + 1 : undefined };
}

type Find = (text: string) => Span | undefined;

/** The text between two equal marks; the end is unknown if there are more than two. */
const between =
  (mark: RegExp): Find =>
  (text) => {
    const [first, second, third] = takeThree(text, mark);
    if (first === undefined) return undefined;
    return { from: first.from, to: third === undefined ? second?.to : undefined };
  };

/** Single quotation marks are also apostrophes: a mark without a closing one quotes nothing. */
const singleQuotes: Find = (text) => {
  const [open, another] = takeThree(text, /(?<![\p{L}\p{N}])['‘](?=[\p{L}\p{N}])/gu);
  if (open === undefined) return undefined;
  const behind = text.slice(open.to);
  const [close, further] = takeThree(behind, /(?<=\S)['’](?![\p{L}\p{N}])/gu);
  if (close === undefined) return undefined;
  const isPlain = another === undefined && further === undefined;
  return { from: open.from, to: isPlain ? open.to + close.to : undefined };
};

/**
 * Quotation marks and non-ASCII brackets of all scripts, and double primes. ASCII brackets contain remarks; single
 * marks that are also apostrophes have their own rule.
 */
const quotationMark = /[[\p{Pi}\p{Pf}\p{Ps}\p{Pe}]--[\(\)\[\]\{\}‘’]]|′′/gv;

const pairs: readonly Find[] = [
  between(/```/g),
  between(/~~~/g),
  between(/(?<!`)`(?!`)/g),
  between(quotationMark),
  between(/(?<!\d)"/g),
  singleQuotes,
];

function takeThree(text: string, mark: RegExp): readonly { readonly from: number; readonly to: number }[] {
  const places: { from: number; to: number }[] = [];
  for (const { index, 0: matched } of text.matchAll(mark)) {
    places.push({ from: index, to: index + matched.length });
    if (places.length === 3) break;
  }
  return places;
}

/** The first two indexes of a part in a text. */
function placesOf(text: string, part: string): readonly number[] {
  const first = text.indexOf(part);
  if (first === -1) return [];
  const second = text.indexOf(part, first + 1);
  return second === -1 ? [first] : [first, second];
}
