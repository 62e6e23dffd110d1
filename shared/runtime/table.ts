import { visibleLine } from './terminal.ts';

/** A table with padded columns; numbers are aligned right. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  // cells may hold client text: escape it before measuring
  const shown = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell : visibleLine(cell))));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...shown.map((row) => String(row[column] ?? '').length)),
  );
  const line = (cells: readonly (string | number)[]) =>
    cells
      .map((cell, column) =>
        typeof cell === 'number'
          ? String(cell).padStart(widths[column]!)
          : String(cell).padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd();
  return [line(headings), line(widths.map((width) => '-'.repeat(width))), ...shown.map(line)].join('\n');
}

/** The start of a text on one line. */
export function excerpt(text: string, length: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}
