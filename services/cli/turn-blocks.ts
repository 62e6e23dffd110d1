import { excerpt } from '../../shared/runtime/table.ts';
import { visibleLine } from '../../shared/runtime/terminal.ts';

/** Columns that the names of the texts take. */
const INDENT = 12;

type Block = {
  /** what is known about the turn, shown in one line */
  readonly facts: readonly string[];
  /** shown with its name, one line each; empty texts are left out */
  readonly texts: Readonly<Record<string, string>>;
};

/** Turns as blocks of lines that fit a terminal; a table of them would be wider than most. Ids are never cut. */
export function formatBlocks(blocks: readonly Block[], width: number): string {
  const text = ([name, content]: readonly [string, string]): string =>
    `  ${name.padEnd(INDENT - 2)}${excerpt(visibleLine(content), Math.max(20, width - INDENT))}`;
  return blocks
    .map(({ facts, texts }) =>
      [
        facts.filter(Boolean).map(visibleLine).join('  '),
        ...Object.entries(texts)
          .filter(([, content]) => content !== '')
          .map(text),
      ].join('\n'),
    )
    .join('\n\n');
}
