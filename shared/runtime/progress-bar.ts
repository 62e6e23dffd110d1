import { writeOver } from './terminal.ts';

const CELLS = 24;
/** ms between two drawings of a bar */
const REDRAW_MS = 100;

/** Progress in any unit. */
export type Done = { readonly done: number; readonly total: number };

const shareOf = ({ done, total }: Done): number => (total === 0 ? 1 : done / total);

/** `[#####-------------------] 21 %` */
export function barOf(progress: Done): string {
  const share = shareOf(progress);
  const full = Math.floor(share * CELLS);
  return `[${'#'.repeat(full)}${'-'.repeat(CELLS - full)}] ${Math.floor(share * 100)} %`;
}

/** Passes on the first and last progress, and one per tenth; for logs. */
export function everyTenth<Progress extends Done>(
  report: (progress: Progress) => void,
): (progress: Progress) => void {
  let last = -1;
  return (progress) => {
    const tenth = Math.floor(10 * shareOf(progress));
    if (tenth === last) return;
    last = tenth;
    report(progress);
  };
}

export type ProgressBar<Progress> = {
  readonly on: (progress: Progress) => void;
  readonly end: () => void;
};

/** A line that is redrawn in place on a terminal; elsewhere one line per tenth. */
export function openBar<Progress extends Done>(
  output: NodeJS.WriteStream,
  line: (progress: Progress) => string,
): ProgressBar<Progress> {
  if (!output.isTTY) {
    return { on: everyTenth((progress) => void output.write(`${line(progress)}\n`)), end: () => {} };
  }
  let drawn = Number.NEGATIVE_INFINITY;
  return {
    on: (progress) => {
      if (performance.now() - drawn < REDRAW_MS && progress.done < progress.total) return;
      drawn = performance.now();
      writeOver(output, line(progress).slice(0, Math.max(20, output.columns - 1)));
    },
    end: () => void (drawn > Number.NEGATIVE_INFINITY && output.write('\n')),
  };
}
