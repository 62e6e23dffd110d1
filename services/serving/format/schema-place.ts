import { ServingError } from '../errors.ts';
import type { Pattern } from './pattern.ts';
import { type Schema, sayingKeywords } from './schema-keywords.ts';

/** Where a schema stands, as a JSON pointer, and what it stands in. */
export type Place = {
  readonly root: unknown;
  readonly at: string;
  readonly param: string;
  readonly rules: Rules;
};
type Rules = Map<string, Pattern>;

/** @throws ServingError INVALID_REQUEST, always */
export function refuse({ at, param }: Place, why: string): never {
  const detail = `Invalid '${param}': ${why} (at ${JSON.stringify(at.slice(0, 200))} of the schema).`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}

export const within = (place: Place, ...steps: readonly (string | number)[]): Place => ({
  ...place,
  at: [place.at, ...steps.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/'),
});

/** @throws where other keywords than these say something beside `name` */
export function alone(schema: Schema, place: Place, name: string, ...allowed: readonly string[]): void {
  const other = sayingKeywords(schema).find((one) => one !== name && !allowed.includes(one));
  if (other !== undefined) refuse(place, `\`${other}\` beside \`${name}\` is not supported`);
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** What a pointer into the document leads to. */
export function resolve(reference: string, place: Place): unknown {
  if (!/^#(\/|$)/.test(reference))
    refuse(place, '`$ref` can name what stands in the schema itself alone, by `#/...`');
  let found: unknown = place.root;
  for (const step of decoded(reference).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(found) || !Object.hasOwn(found, name))
      return refuse(place, '`$ref` names what there is not');
    found = found[name];
  }
  return found;
}

const decoded = (reference: string): string => {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
};
