import { readFileSync } from 'node:fs';

/**
 * The rows of a table in this folder, by the names of its columns, which are its first line. One line per row, fields
 * between tabs. Throws if the columns are others.
 */
export function readTable<const Column extends string>(
  name: string,
  columns: readonly Column[],
): readonly Readonly<Record<Column, string | undefined>>[] {
  const file = new URL(`${name}.tsv`, import.meta.url);
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  if (header !== columns.join('\t')) throw new Error(`the columns of ${name} are ${columns.join(', ')}`);
  return lines.map((line) => {
    const cells = line.split('\t');
    return Object.fromEntries(columns.map((column, at) => [column, cells[at]])) as Record<
      Column,
      string | undefined
    >;
  });
}
