import type { JsonType } from './schema-keywords.ts';

type Followed = (reference: string) => unknown;

/** References in a row that are followed. */
const MOST_STEPS = 20;

/** Whether a value is of a type of JSON Schema. */
export function typeOfValue(value: unknown, type: unknown): boolean {
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
 * Whether it is plain that no value is of two of these schemas: by type, by value, or by a property's value.
 */
export function areApart(schemas: readonly unknown[], follow: Followed): boolean {
  const seen = schemas.map((schema) => resolved(schema, follow));
  return seen.every((one, at) => seen.slice(at + 1).every((other) => arePairApart(one, other, follow)));
}

type Plain = Readonly<Record<string, unknown>>;
const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null;

function resolved(schema: unknown, follow: Followed): Plain {
  let found = schema;
  for (let step = 0; step < MOST_STEPS && isPlain(found) && typeof found.$ref === 'string'; step++)
    found = follow(found.$ref);
  return isPlain(found) ? found : {};
}

function arePairApart(one: Plain, other: Plain, follow: Followed): boolean {
  const [values, otherValues] = [valuesOf(one), valuesOf(other)];
  if (values !== undefined && otherValues !== undefined)
    return values.every((value) => !otherValues.includes(value));
  const [types, otherTypes] = [typesOf(one), typesOf(other)];
  if (types === undefined || otherTypes === undefined) return false;
  if (types.every((type) => !otherTypes.includes(type))) return true;
  if ([...types, ...otherTypes].some((type) => type !== 'object')) return false;
  return requiredOf(one).some((name) => {
    if (!requiredOf(other).includes(name)) return false;
    const [value, otherValue] = [one, other].map((schema) =>
      valuesOf(resolved(propertiesOf(schema)[name], follow)),
    );
    return (
      value !== undefined && otherValue !== undefined && value.every((each) => !otherValue.includes(each))
    );
  });
}

const propertiesOf = ({ properties }: Plain): Plain => (isPlain(properties) ? properties : {});
const requiredOf = ({ required }: Plain): readonly string[] => (Array.isArray(required) ? required : []);

/** Its values as JSON, where they are listed. */
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

function typesOf(schema: Plain): readonly unknown[] | undefined {
  if (schema.type !== undefined) return [schema.type].flat().map(wider);
  const values = valuesOf(schema)?.map((value): unknown => JSON.parse(value));
  return values?.map((value) => typesOfJson.find((type) => typeOfValue(value, type)));
}
