import type { PatternBudget } from './pattern-budget.ts';
import type { JsonType } from './schema-keywords.ts';

type FollowReference = (reference: string) => unknown;

/** The longest chain of references that is followed. */
const MOST_STEPS = 20;

/** Whether a value has a type of JSON Schema. */
export function hasType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/**
 * Whether no value can match two of these schemas, judged by their types, their values, or the values of a
 * required property.
 *
 * @param budget pays for the comparisons
 */
export function areApart(
  schemas: readonly unknown[],
  follow: FollowReference,
  budget: PatternBudget,
): boolean {
  const distinctions = schemas.map((schema) => distinctionOf(resolved(schema, follow), follow, budget));
  return distinctions.every((one, at) =>
    distinctions.slice(at + 1).every((other) => {
      budget.spend((1 + one.properties.size) / COMPARED_PER_PART);
      return arePairApart(one, other, budget);
    }),
  );
}

/** Comparisons that cost as much as one part of a pattern. */
const COMPARED_PER_PART = 20;

/** The properties that distinguish a schema from others. */
type Distinction = {
  /** Its values as JSON, if it lists them. */
  readonly values: ReadonlySet<string> | undefined;
  readonly types: readonly unknown[] | undefined;
  /** The values of each required property that lists them. */
  readonly properties: ReadonlyMap<string, ReadonlySet<string>>;
};

type Plain = Readonly<Record<string, unknown>>;
const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null;

function resolved(schema: unknown, follow: FollowReference): Plain {
  let target = schema;
  for (let step = 0; step < MOST_STEPS && isPlain(target) && typeof target.$ref === 'string'; step++)
    target = follow(target.$ref);
  return isPlain(target) ? target : {};
}

function distinctionOf(schema: Plain, follow: FollowReference, budget: PatternBudget): Distinction {
  const schemas = propertiesOf(schema);
  const required = [...new Set(requiredOf(schema))].filter((name) => Object.hasOwn(schemas, name));
  const properties = new Map<string, ReadonlySet<string>>();
  for (const name of required) {
    const values = valuesOf(resolved(schemas[name], follow));
    budget.spend((1 + (values?.length ?? 0)) / COMPARED_PER_PART);
    if (values !== undefined) properties.set(name, new Set(values));
  }
  const values = valuesOf(schema);
  budget.spend((1 + (values?.length ?? 0)) / COMPARED_PER_PART);
  return { values: values && new Set(values), types: typesOf(schema, values), properties };
}

function arePairApart(one: Distinction, other: Distinction, budget: PatternBudget): boolean {
  const isApart = (values: ReadonlySet<string>, others: ReadonlySet<string>): boolean => {
    const [few, many] = values.size < others.size ? [values, others] : [others, values];
    budget.spend(few.size / COMPARED_PER_PART);
    return [...few].every((value) => !many.has(value));
  };
  if (one.values !== undefined && other.values !== undefined) return isApart(one.values, other.values);
  const { types } = one;
  const { types: otherTypes } = other;
  if (types === undefined || otherTypes === undefined) return false;
  if (types.every((type) => !otherTypes.includes(type))) return true;
  if ([...types, ...otherTypes].some((type) => type !== 'object')) return false;
  return [...one.properties].some(([name, values]) => {
    const others = other.properties.get(name);
    return others !== undefined && isApart(values, others);
  });
}

const propertiesOf = ({ properties }: Plain): Plain => (isPlain(properties) ? properties : {});
const requiredOf = ({ required }: Plain): readonly string[] => (Array.isArray(required) ? required : []);

/** Its values as JSON, if it lists them. */
function valuesOf(schema: Plain): readonly string[] | undefined {
  const values = Array.isArray(schema.enum)
    ? schema.enum
    : Object.hasOwn(schema, 'const')
      ? [schema.const]
      : undefined;
  return values?.map((value) => JSON.stringify(value));
}

const wider = (type: unknown): unknown => (type === 'integer' ? 'number' : type);
const typesOfJson: readonly JsonType[] = ['object', 'array', 'string', 'number', 'boolean', 'null'];

function typesOf(schema: Plain, listed: readonly string[] | undefined): readonly unknown[] | undefined {
  if (schema.type !== undefined) {
    const types = new Set([schema.type].flat().map(wider));
    return typesOfJson.filter((type) => types.has(type)); // unknown types are refused elsewhere
  }
  const values = listed?.map((value): unknown => JSON.parse(value));
  return values && [...new Set(values.map((value) => typesOfJson.find((type) => hasType(value, type))))];
}
