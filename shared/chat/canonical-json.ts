import { isObject } from '../lang/json.ts';

/** JSON with sorted object keys, so that equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (isObject(part) ? sorted(part) : part)) ?? 'null';
}

/** Integer-like keys always come first in an object, so their order is fixed too. */
const sorted = (record: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
