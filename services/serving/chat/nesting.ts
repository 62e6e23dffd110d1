/** Deeper JSON than this overflows the stack of whatever walks it later. */
const DEEPEST_JSON = 128;

/** Whether arrays and objects nest deeper than the limit, which is also how deep this goes itself. */
export function nestsDeeper(value: unknown, limit: number = DEEPEST_JSON): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit < 0) return true;
  for (const name in value) {
    if (nestsDeeper((value as Readonly<Record<string, unknown>>)[name], limit - 1)) return true;
  }
  return false;
}
