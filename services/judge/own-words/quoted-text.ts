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
  const found = [linesOfQuote, taggedBlock, closingTag, ...pairs].map((find) => find(text));
  return found.reduce((first, span) =>
    first === undefined || (span && span.from < first.from) ? span : first,
  );
}

const opening = /<([a-zA-Z][\w:.-]*)(?:\s[^<>]*)?>/;

function taggedBlock(text: string): Span | undefined {
  const found = opening.exec(text);
  if (found === null) return undefined;
  const [open, name] = found;
  const behind = text.slice(found.index + open.length);
  const [opens, closes] = [placesOf(behind, `<${name}`), placesOf(behind, `</${name}`)];
  const end = closes.length === 1 ? behind.indexOf('>', closes[0]!) : -1;
  const isPlain = opens.length === 0 && end !== -1;
  return { from: found.index, to: isPlain ? found.index + open.length + end + 1 : undefined };
}

/** Of a block that was opened nowhere: what stands before it may be in the block as well. */
function closingTag(text: string): Span | undefined {
  const from = text.search(/<\/[a-zA-Z]/);
  return from === -1 ? undefined : { from, to: undefined };
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

const pairs: readonly Find[] = [
  between(/```/g),
  between(/~~~/g),
  between(/(?<!`)`(?!`)/g),
  between(/[“”„«»「」]/g),
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
