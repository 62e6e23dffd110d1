/*
 * A quoted text may hold the very marks that quote it, and a client escapes nothing. So a mark ends a
 * quotation only where no second one could; otherwise nobody can tell where it ends.
 */

/** A part of a text that is set apart from the words around it. */
export type Span = {
  readonly from: number;
  /** undefined: it may end anywhere behind `from` */
  readonly to: number | undefined;
};

/** Lines that are quoted, of a table or indented, as many as follow each other: each bears its own mark. */
const quotedLines = /(?:^(?:[ \t]{0,3}[>|]| {4}|\t)[^\n]*(?:\n|$))+/m;

function linesOfQuote(text: string): Span | undefined {
  const found = quotedLines.exec(text);
  return found === null ? undefined : { from: found.index, to: found.index + found[0].length };
}

/** The first quoted lines, tagged block, code block, quotation or piece of code in a text. */
export function firstSpan(text: string): Span | undefined {
  const found = [linesOfQuote, angled, bracketed, startsWhatEndsAnywhere, ...pairs].map((find) => find(text));
  const span = found.reduce((first, next) =>
    first === undefined || (next && next.from < first.from) ? next : first,
  );
  const closing = closingTag.exec(text);
  // of a block that was opened nowhere, what stands before it may be in the block as well
  return closing !== null && closing.index <= (span?.from ?? text.length) ? { from: 0, to: undefined } : span;
}

/** Whatever is called a tag: `<doc>`, `<1>`, `<_doc>`, `<|doc|>`. */
const openingTag = /<([^\s<>/=][^\s<>]*)(?:\s[^<>]*)?>/;
/** `[quote]`, `[quote=Ann]`. In brackets stand remarks as well: it is a tag where the text closes it. */
const openingBracket = /\[([a-zA-Z][\w-]{0,40})(?:[ =][^\]\n]{0,80})?\]/g;
const closingTag = /<\s?\/\s?[^\s<>]|\[\/[^\s\]]/;

/** Comments, CDATA and processing instructions of XML, environments of LaTeX, colours of a terminal. */
const startOfNoPair = /<[!?%]|\\begin\s?\{|\p{Cc}/u;

function startsWhatEndsAnywhere(text: string): Span | undefined {
  const from = text.replace(/[\n\t]/g, ' ').search(startOfNoPair);
  return from === -1 ? undefined : { from, to: undefined };
}

type Tag = { readonly from: number; readonly to: number; readonly open: string; readonly close: string };

function angled(text: string): Span | undefined {
  const found = openingTag.exec(text);
  if (found === null) return undefined;
  const { index: from, 0: open, 1: name } = found;
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

/** Between two marks that look alike, if there are just two of them. */
const between =
  (mark: RegExp): Find =>
  (text) => {
    const [first, second, third] = takeThree(text, mark);
    if (first === undefined) return undefined;
    return { from: first.from, to: third === undefined ? second?.to : undefined };
  };

/** Single marks are apostrophes too: one without a mark that could close it quotes nothing. */
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
 * Whatever opens or closes a quotation in any script: brackets too, but those of ASCII, which hold remarks.
 * Single marks that are apostrophes too are read apart; double primes stand for quotation marks.
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
  const found: { from: number; to: number }[] = [];
  for (const { index, 0: matched } of text.matchAll(mark)) {
    found.push({ from: index, to: index + matched.length });
    if (found.length === 3) break;
  }
  return found;
}

/** Where a text holds another, at most two places. */
function placesOf(text: string, part: string): readonly number[] {
  const first = text.indexOf(part);
  if (first === -1) return [];
  const second = text.indexOf(part, first + 1);
  return second === -1 ? [first] : [first, second];
}
