import { grammarError } from './grammar-error.ts';
import type { Pattern } from './pattern.ts';
import type { PatternBudget } from './pattern-budget.ts';
import { constrainingKeywords, type Schema, schemaKeywords } from './schema-keywords.ts';

/** A position in a schema document, with what is shared by the whole document. */
export type Place = {
  readonly root: unknown;
  readonly at: Path;
  readonly known: KnownSchemas;
  readonly budget: PatternBudget;
};

/** A JSON pointer as a linked list; only errors spell it out. */
type Path = { readonly before: Path | undefined; readonly step: string | number };

/** The patterns made from one document, so that each part is processed once. */
type KnownSchemas = {
  /** The target of each reference. */
  readonly targets: Map<string, unknown>;
  /** By reference. */
  readonly rules: Map<string, Pattern>;
  /** By schema object; undefined while the pattern is being made. */
  readonly patterns: Map<object, Pattern | undefined>;
};

export const placeOfRoot = (root: unknown, budget: PatternBudget): Place => ({
  root,
  at: { before: undefined, step: '#' },
  known: { targets: new Map(), rules: new Map(), patterns: new Map() },
  budget,
});

/** Steps of a pointer that an error shows. */
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

/** @throws GrammarError, always */
export function refuse({ at }: Place, reason: string): never {
  throw grammarError(reason, pointerTo(at));
}

export const within = (place: Place, ...steps: readonly (string | number)[]): Place => ({
  ...place,
  at: steps.reduce<Path>((before, step) => ({ before, step }), place.at),
});

/** @throws GrammarError if the schema has constraining keywords besides `name` and `allowed` */
export function alone(schema: Schema, place: Place, name: string, ...allowed: readonly string[]): void {
  const other = constrainingKeywords(schema).find(
    (keyword) => keyword !== name && !allowed.includes(keyword),
  );
  if (other !== undefined) refuse(place, `\`${other}\` beside \`${name}\` is not supported`);
}

/** @throws GrammarError if a keyword has a value of a wrong type */
export function readSchema(given: unknown, place: Place): Schema {
  const parsed = schemaKeywords.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const steps = issue.path.map((step) => (typeof step === 'symbol' ? '' : step));
  return refuse(within(place, ...steps), `invalid value: ${issue.message}`);
}

/** Members of a list that cost as much as one part of a pattern. */
const MEMBERS_PER_PART = 8;

/** The cost of reading a schema: its members and those of its lists. */
export const membersOf = (given: Readonly<Record<string, unknown>>): number =>
  Object.values(given).reduce<number>(
    (sum, value) => sum + 1 + (Array.isArray(value) ? Math.floor(value.length / MEMBERS_PER_PART) : 0),
    0,
  );

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The target of a pointer into the document. */
export function resolve(reference: string, place: Place): unknown {
  const { targets } = place.known;
  if (!targets.has(reference)) targets.set(reference, targetOf(reference, place));
  return targets.get(reference);
}

function targetOf(reference: string, place: Place): unknown {
  if (!/^#(\/|$)/.test(reference)) refuse(place, '`$ref` must be a `#/...` pointer into the same schema');
  let target: unknown = place.root;
  for (const step of decoded(reference).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(target) || !Object.hasOwn(target, name))
      return refuse(place, '`$ref` points to nothing in the schema');
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
