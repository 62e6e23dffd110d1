import { writeOver } from '../../../shared/service/terminal.ts';

/** ms between two lines where the output is no terminal. */
const LINE_INTERVAL_MS = 5_000;
const REDRAW_INTERVAL_MS = 250;

/** One line that is redrawn in place on a terminal, and written anew when it changed elsewhere. */
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
    /** A whole line above the live one. */
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
