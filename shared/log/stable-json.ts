/** JSON with sorted keys: equal values give the same text, whatever their key order. */
export const stableJson = (value: unknown): string => textOf(value ?? null) ?? 'null';

const isObject = (part: unknown): part is object => part !== null && typeof part === 'object';

/** Undefined: JSON has no such value. */
function textOf(part: unknown): string | undefined {
  // most lists are long lists of numbers
  if (!isObject(part) || (Array.isArray(part) && !part.some(isObject))) return JSON.stringify(part);
  if (Array.isArray(part)) return `[${part.map((one) => textOf(one) ?? 'null').join()}]`;
  const fields = keysOf(part).flatMap((key) => {
    const text = textOf((part as Record<string, unknown>)[key]);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${fields.join()}}`;
}

/** Sorted, but whole numbers come first, by their value: earlier digests were made so. */
function keysOf(part: object): readonly string[] {
  const keys = Object.keys(part).sort();
  const hasDigits = keys.some((key) => key.charCodeAt(0) <= NINE);
  return hasDigits ? Object.keys(Object.fromEntries(keys.map((key) => [key, 0]))) : keys;
}

const NINE = '9'.charCodeAt(0);
