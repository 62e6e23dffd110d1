/** JSON with sorted keys: equal values give the same text, whatever their key order. */
export const stableJson = (value: unknown): string => JSON.stringify(sorted(value ?? null));

const isObject = (part: unknown): part is object => part !== null && typeof part === 'object';

function sorted(part: unknown): unknown {
  if (!isObject(part)) return part;
  // most lists are long lists of numbers
  if (Array.isArray(part)) return part.some(isObject) ? part.map(sorted) : part;
  const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const entry of entries) entry[1] = sorted(entry[1]);
  return Object.fromEntries(entries);
}
