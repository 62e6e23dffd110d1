/** ms in which the same line is shown once */
const QUIET_MS = 60_000;

/**
 * Suppresses repeated lines, such as a warning with every answer while a disk is full. Returns undefined for a
 * line that was shown within the last minute; otherwise the line, with the number of suppressed copies.
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
    return last === undefined || last.more === 0 ? line : `${line} (repeated ${last.more} times)`;
  };
}
