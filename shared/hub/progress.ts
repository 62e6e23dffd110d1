import type { Progress } from './fetch-model.ts';

const MEGA = 1e6;
const CELLS = 24;
/** ms between two drawings of the bar */
const REDRAW_MS = 100;

/** `SmolLM2-135M [#####------] 21 % 57 of 269 MB, 11.2 MB/s, model.safetensors` */
export function progressLine({ id, path, done, total }: Progress, bytesPerSecond: number): string {
  const share = total === 0 ? 1 : done / total;
  const full = Math.floor(share * CELLS);
  const bar = '#'.repeat(full) + '-'.repeat(CELLS - full);
  const [got, all] = [done, total].map((bytes) => (bytes / MEGA).toFixed(0));
  const rate = bytesPerSecond > 0 ? `, ${(bytesPerSecond / MEGA).toFixed(1)} MB/s` : '';
  return `${id} [${bar}] ${Math.floor(share * 100)} % ${got} of ${all} MB${rate}, ${path}`;
}

/** Passes on the first, the last, and what is in a new tenth: for logs, where every line stays. */
export function everyTenth(say: (progress: Progress) => void): (progress: Progress) => void {
  let last = -1;
  return (progress) => {
    const tenth = progress.total === 0 ? 10 : Math.floor((10 * progress.done) / progress.total);
    if (tenth === last) return;
    last = tenth;
    say(progress);
  };
}

/** A bar that is drawn over itself on a terminal; elsewhere a line for every tenth. */
export function progressBar(
  output: NodeJS.WriteStream,
  now: () => number = () => performance.now(),
): { readonly on: (progress: Progress) => void; readonly end: () => void } {
  const started = now();
  let first: number | undefined;
  const line = (progress: Progress): string => {
    first ??= progress.done; // what was there before did not come over the network
    const seconds = (now() - started) / 1000;
    return progressLine(progress, seconds < 0.5 ? 0 : (progress.done - first) / seconds);
  };
  if (!output.isTTY) {
    return { on: everyTenth((progress) => void output.write(`${line(progress)}\n`)), end: () => {} };
  }
  let drawn = Number.NEGATIVE_INFINITY;
  return {
    on: (progress) => {
      if (now() - drawn < REDRAW_MS && progress.done < progress.total) return;
      drawn = now();
      output.write(`\r\u001b[K${line(progress).slice(0, Math.max(20, output.columns - 1))}`);
    },
    end: () => void (drawn > Number.NEGATIVE_INFINITY && output.write('\n')),
  };
}
