/** Deeper JSON than this overflows the stack of whatever walks it later. */
const DEEPEST_JSON = 128;

/** Whether arrays and objects nest deeper than the limit. Walks without recursion. */
export function nestsDeeper(value: unknown, limit: number = DEEPEST_JSON): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}
