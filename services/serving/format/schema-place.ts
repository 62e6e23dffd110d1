import { ServingError } from '../errors.ts';
import type { Pattern } from './pattern.ts';
import type { PatternBudget } from './pattern-budget.ts';
import { type Schema, sayingKeywords } from './schema-keywords.ts';

/** Where a schema stands, as a JSON pointer, and what it stands in. */
export type Place = {
  readonly root: unknown;
  readonly at: Path;
  readonly param: string;
  readonly known: KnownSchemas;
  readonly budget: PatternBudget;
};

/** The last step of a JSON pointer and the steps before it: only a refusal spells the whole pointer. */
export type Path = { readonly before: Path | undefined; readonly step: string | number };

/** What was made of the parts of one document, so that each part is made once. */
export type KnownSchemas = {
  /** By reference: what it leads to. */
  readonly targets: Map<string, unknown>;
  /** By reference. */
  readonly rules: Map<string, Pattern>;
  /** By the schema object itself; undefined while its pattern is being made. */
  readonly patterns: Map<object, Pattern | undefined>;
};

export const placeOfRoot = (root: unknown, param: string, budget: PatternBudget): Place => ({
  root,
  at: { before: undefined, step: '#' },
  param,
  known: { targets: new Map(), rules: new Map(), patterns: new Map() },
  budget,
});

/** Steps of a pointer that a refusal shows. */
const MOST_SHOWN = 50;

function pointerTo(path: Path): string {
  const steps: string[] = [];
  for (let at: Path | undefined = path; at !== undefined; at = at.before) steps.push(String(at.step));
  const [root, ...others] = steps.reverse();
  const shown = others.slice(0, MOST_SHOWN).map((step) => step.slice(0, 200));
  return [root, ...shown.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))]
    .join('/')
    .slice(0, 200);
}

/** @throws ServingError INVALID_REQUEST, always */
export function refuse({ at, param }: Place, why: string): never {
  const detail = `Invalid '${param}': ${why} (at ${JSON.stringify(pointerTo(at))} of the schema).`;
  throw ServingError.INVALID_REQUEST({ param, detail });
}

export const within = (place: Place, ...steps: readonly (string | number)[]): Place => ({
  ...place,
  at: steps.reduce<Path>((before, step) => ({ before, step }), place.at),
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
  const { targets } = place.known;
  if (!targets.has(reference)) targets.set(reference, found(reference, place));
  return targets.get(reference);
}

function found(reference: string, place: Place): unknown {
  if (!/^#(\/|$)/.test(reference))
    refuse(place, '`$ref` can name what stands in the schema itself alone, by `#/...`');
  let target: unknown = place.root;
  for (const step of decoded(reference).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(target) || !Object.hasOwn(target, name))
      return refuse(place, '`$ref` names what there is not');
    target = target[name];
  }
  return target;
}

const decoded = (reference: string): string => {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
};
