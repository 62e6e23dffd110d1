/** ms in which the same line is shown once; the file of the service keeps each. */
const QUIET_MS = 60_000;

/**
 * Thins out what a service says again and again, as it does with each answer while a disk is full. Gives
 * undefined for a line that was shown within the last minute; else the line, with how often it came meanwhile.
 */
export function createRepeats(now: () => number): (line: string) => string | undefined {
  const shown = new Map<string, { readonly at: number; readonly more: number }>();
  return (line) => {
    const last = shown.get(line);
    const at = now();
    if (last !== undefined && at - last.at < QUIET_MS) {
      shown.set(line, { ...last, more: last.more + 1 });
      return undefined;
    }
    for (const [old, { at: since }] of shown) if (at - since >= QUIET_MS) shown.delete(old);
    shown.set(line, { at, more: 0 });
    return last === undefined || last.more === 0 ? line : `${line} (and ${last.more} times before)`;
  };
}
