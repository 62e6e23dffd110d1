import { writeOver } from '../../../shared/runtime/terminal.ts';

/** ms between two lines when the output is not a terminal */
const LINE_INTERVAL_MS = 5_000;
const REDRAW_INTERVAL_MS = 250;

/** A line that is redrawn in place on a terminal; elsewhere it is written again whenever it changes. */
export function openLiveLine(output: NodeJS.WriteStream, text: () => string) {
  let shown = '';
  const draw = (): void => {
    const line = text();
    if (line === shown) return;
    shown = line;
    if (output.isTTY) writeOver(output, line.slice(0, (output.columns ?? 120) - 1));
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
