type Screen = { readonly isTTY?: boolean; readonly write: (text: string) => unknown };

/** ms between two lines if the output is not a terminal */
const QUIET_MS = 30_000;

/** Progress of the cells, with the estimated time for the rest. */
export function createProgress(
  cells: number,
  screen: Screen,
  now: () => number = performance.now.bind(performance),
) {
  const began = now();
  let finished = 0;
  let printedAt = began;
  const clear = screen.isTTY ? '\r\u001b[2K' : '';
  return {
    at: (name: string, part: number): void => {
      const time = now();
      if (!screen.isTTY && time - printedAt < QUIET_MS) return;
      printedAt = time;
      const share = (finished + part) / cells;
      const left = ((time - began) * (1 - share)) / share;
      const line = `${finished + 1} of ${cells}: ${name}, ${Math.round(part * 100)} %; ${spell(left)} left`;
      screen.write(screen.isTTY ? `${clear}${line}` : `${line}\n`);
    },
    done: (line: string): void => {
      finished += 1;
      screen.write(`${clear}${line}\n`);
    },
  };
}

const spell = (ms: number): string => {
  const minutes = Math.ceil(ms / 60_000);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
