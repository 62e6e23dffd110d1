/*
 * What is quoted may hold the marks that quote it. So all from the first mark to the last is dropped, and not
 * the text between two marks alone.
 */

/** The text without its code blocks. A block that is never closed reaches to the end. */
export function withoutFences(text: string): string {
  return ['```', '~~~'].reduce((rest, fence) => {
    const first = rest.indexOf(fence);
    if (first === -1) return rest;
    const last = rest.lastIndexOf(fence);
    const after = last === first ? '' : rest.slice(last + fence.length);
    return `${rest.slice(0, first)}\n${after}`;
  }, text);
}

const quotedLine = /^[ \t]{0,3}[>|]/;
const indentedLine = /^(?: {4}|\t)/;
/** The end of "On Tuesday Ann wrote:" */
const attribution = /\b(?:wrote|writes|schrieb|écrit|escribió)[^\n]{0,40}:\s{0,10}$/;

/** The text without quoted lines, tables and indented lines, and without the line that says who is quoted. */
export function withoutQuotedLines(text: string): string {
  const lines = text.split('\n');
  const introducesQuote = (index: number) =>
    attribution.test(lines[index]!.slice(-200)) &&
    [lines[index + 1], lines[index + 2]].some((line) => line !== undefined && quotedLine.test(line));
  return lines
    .filter((line, index) => !quotedLine.test(line) && !indentedLine.test(line) && !introducesQuote(index))
    .join('\n');
}

/** The text without quotations and inline code. */
export function withoutQuotations(text: string): string {
  const spoken = dropSpan(text, /[“”„«»「」]/g, /[“”„«»「」]/g);
  const plain = dropSpan(spoken, /(?<![\p{L}\p{N}])"/gu, /"/g);
  return plain.split('\n').map(withoutSpansOfLine).join('\n');
}

function withoutSpansOfLine(line: string): string {
  const last = line.lastIndexOf('`');
  const first = line.indexOf('`');
  const spoken = first === last ? line : `${line.slice(0, first)} ${line.slice(last + 1)}`;
  const open = firstMatch(spoken, /(?<![\p{L}\p{N}])['‘](?=\S)/gu);
  const close = endOfLastMatch(spoken, /(?<=\S)['’](?![\p{L}\p{N}])/gu);
  // an apostrophe is no quotation: a single mark that is not closed on its line stays
  return open === -1 || close <= open + 1 ? spoken : `${spoken.slice(0, open)} ${spoken.slice(close)}`;
}

/** Drops from the first opening mark to the last closing one, or to the end where none follows. */
function dropSpan(text: string, opens: RegExp, closes: RegExp): string {
  const open = firstMatch(text, opens);
  if (open === -1) return text;
  const close = endOfLastMatch(text, closes);
  return close <= open + 1 ? text.slice(0, open) : `${text.slice(0, open)} ${text.slice(close)}`;
}

const firstMatch = (text: string, mark: RegExp): number =>
  mark[Symbol.matchAll](text).next().value?.index ?? -1;

function endOfLastMatch(text: string, mark: RegExp): number {
  let end = -1;
  for (const { index, 0: found } of text.matchAll(mark)) end = index + found.length;
  return end;
}
