import { writeOver } from '../../../shared/runtime/terminal.ts';
import { SEPARATOR } from './status.ts';

/** ms between two lines when the output is not a terminal */
const LINE_INTERVAL_MS = 5_000;
const REDRAW_INTERVAL_MS = 250;

/** The parts of a line that fit into a width, from the left; the first is cut if even that is too long. */
export function fitted(line: string, width: number): string {
  const parts = line.split(SEPARATOR);
  const starts = parts.map((_, index) => parts.slice(0, index + 1).join(SEPARATOR));
  return (starts.findLast((text) => text.length <= width) ?? line).slice(0, width);
}

/** A line that is redrawn in place on a terminal; elsewhere it is written again whenever it changes. */
export function openLiveLine(output: NodeJS.WriteStream, text: () => string) {
  let shown = '';
  const draw = (): void => {
    const line = text();
    if (line === shown) return;
    shown = line;
    if (output.isTTY) writeOver(output, fitted(line, (output.columns ?? 120) - 1));
    else output.write(`${line}\n`);
  };
  const timer = setInterval(draw, output.isTTY ? REDRAW_INTERVAL_MS : LINE_INTERVAL_MS);
  return {
    /** Prints a line above the live one. */
    print: (line: string): void => {
      if (output.isTTY) writeOver(output, '');
      output.write(`${line}\n`);
      shown = '';
    },
    close: (): void => {
      clearInterval(timer);
      if (output.isTTY && shown !== '') output.write('\n');
    },
  };
}
