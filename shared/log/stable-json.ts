/** JSON with sorted keys: equal values give the same text, whatever their key order. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
