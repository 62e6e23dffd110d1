import { stableJson } from './stable-json.ts';

/** The path of the first field in which two JSON values differ, such as `data.votes.0`; undefined: they are equal. */
export function firstDifference(a: unknown, b: unknown): string | undefined {
  if (stableJson(a) === stableJson(b)) return undefined;
  if (!isTree(a) || !isTree(b)) return '';
  for (const name of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
    const inside = firstDifference(a[name], b[name]);
    if (inside !== undefined) return inside === '' ? name : `${name}.${inside}`;
  }
  return '';
}

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
