const markers = (name: string) => [`<!-- ${name}: begin, npm run docs -->`, `<!-- ${name}: end -->`] as const;

/** The text between the markers of a generated part. Throws if the page lacks the markers. */
export function generatedPart(page: string, name: string): string {
  const [from, to] = span(page, name);
  return page.slice(from, to);
}

/** The page with another text between the markers of a generated part. */
export function replaceGeneratedPart(page: string, name: string, text: string): string {
  const [from, to] = span(page, name);
  return `${page.slice(0, from)}\n${text}\n${page.slice(to)}`;
}

function span(page: string, name: string): readonly [from: number, to: number] {
  const [begin, end] = markers(name);
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page lacks "${begin}" or "${end}"`);
  return [from + begin.length, to];
}
