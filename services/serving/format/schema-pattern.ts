import {
  anyArray,
  anyObject,
  jsonArray,
  jsonBoolean,
  jsonMap,
  jsonNull,
  jsonObject,
  jsonText,
  jsonValue,
} from './json-patterns.ts';
import { choice, never, type Pattern, rule } from './pattern.ts';
import type { PatternBudget } from './pattern-budget.ts';
import { areApart } from './schema-apart.ts';
import {
  type JsonType,
  keywordsOfType,
  refusedKeywords,
  type Schema,
  sayingKeywords,
  schemaKeywords,
} from './schema-keywords.ts';
import { alone, isObject, type Place, placeOfRoot, refuse, resolve, within } from './schema-place.ts';
import { expression, numberOf, textOf, valuesOf } from './schema-scalars.ts';
import { quoted } from './string-patterns.ts';

/** Properties of one object, and schemas of one choice: each costs with every letter. */
const MOST_PROPERTIES = 1_000;
const MOST_BRANCHES = 500;
/** Members of a list that cost as much as one pattern. */
const MEMBERS_PER_PART = 8;
/** Patterns that a property of an object is made of, besides its value. */
const PARTS_OF_PROPERTY = 6;

/**
 * The values of a JSON schema, as a pattern of their texts. Not every value need be of the pattern (an object has
 * its `properties` in their order and no others), but every text of it is a value of the schema.
 *
 * @param param the field of the request that is named where the schema is refused
 * @param budget pays for every pattern that is made
 * @throws ServingError INVALID_REQUEST for a schema that is none, or has what answers cannot be held to
 */
export const schemaPattern = (schema: unknown, param: string, budget: PatternBudget): Pattern =>
  patternOf(schema, placeOfRoot(schema, param, budget));

/** Each schema of the document is made once, however many ways lead to it. */
function patternOf(given: unknown, place: Place): Pattern {
  if (given === true) return jsonValue;
  if (given === false) return never;
  if (!isObject(given)) return madeOf(given, place);
  const { patterns } = place.known;
  const known = patterns.get(given);
  if (known !== undefined) return known;
  if (patterns.has(given)) return rule(() => patterns.get(given) ?? never); // it holds itself
  patterns.set(given, undefined);
  const made = madeOf(given, place);
  patterns.set(given, made);
  return made;
}

function madeOf(given: unknown, place: Place): Pattern {
  if (isObject(given)) place.budget.spend(1 + membersOf(given));
  const schema = read(given, place);
  const refused = refusedKeywords.find((name) => schema[name] !== undefined && !saysNothing(schema, name));
  if (refused !== undefined) refuse(place, `\`${refused}\` is not supported`);
  if (schema.$ref !== undefined) {
    alone(schema, place, '$ref');
    return referred(schema.$ref, place);
  }
  for (const name of ['anyOf', 'oneOf', 'allOf'] as const)
    if (schema[name] !== undefined) return combined(schema, name, place);
  const values = schema.enum ?? (Object.hasOwn(schema, 'const') ? [schema.const] : undefined);
  if (values !== undefined) return valuesOf(schema, values, place);
  return choice(...typesOf(schema).map((type) => ofType(schema, type, place)));
}

/** Members of a schema and of its lists, which are looked at to read it. */
const membersOf = (given: Readonly<Record<string, unknown>>): number =>
  Object.values(given).reduce<number>(
    (sum, value) => sum + 1 + (Array.isArray(value) ? Math.floor(value.length / MEMBERS_PER_PART) : 0),
    0,
  );

function read(given: unknown, place: Place): Schema {
  const parsed = schemaKeywords.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const steps = issue.path.map((step) => (typeof step === 'symbol' ? '' : step));
  return refuse(within(place, ...steps), `a schema cannot have this: ${issue.message}`);
}

/** Objects get no properties but those that are named, so that forbidding others says nothing more. */
const saysNothing = (schema: Schema, name: string): boolean =>
  (name === 'unevaluatedProperties' || name === 'unevaluatedItems') && schema[name] === false;

function referred(reference: string, place: Place): Pattern {
  const { rules } = place.known;
  const known = rules.get(reference);
  if (known !== undefined) return known;
  const found = resolve(reference, place);
  let made: Pattern | undefined;
  const named = rule(() => made ?? never);
  rules.set(reference, named);
  made = patternOf(found, { ...place, at: { before: undefined, step: reference } });
  return named;
}

function combined(schema: Schema, name: 'anyOf' | 'oneOf' | 'allOf', place: Place): Pattern {
  const branches = schema[name]!;
  if (branches.length > MOST_BRANCHES) refuse(place, `\`${name}\` has more than ${MOST_BRANCHES} schemas`);
  if (name === 'allOf' && branches.length > 1) return patternOf(merged(schema, branches, place), place);
  alone(schema, place, name, 'type');
  if (name === 'oneOf' && !areApart(branches, (reference) => resolve(reference, place), place.budget))
    refuse(
      place,
      '`oneOf` needs schemas that no value can have in common: of other types, or told apart by a `const` property that is required',
    );
  const typed = branches.map((branch) =>
    isObject(branch) && schema.type !== undefined ? withType(branch, schema, place) : branch,
  );
  return choice(...typed.map((branch, at) => patternOf(branch, within(place, name, at))));
}

const mergeable = ['type', 'properties', 'required', 'additionalProperties'];

/** Objects of several schemas at once, whose properties are not of two of them. */
function merged({ allOf: _, ...own }: Schema, branches: readonly unknown[], place: Place): object {
  const parts = [own, ...branches].map((branch, at) => {
    const target = follow(branch, place);
    if (isObject(target)) place.budget.spend(1 + membersOf(target));
    const part = read(target, within(place, 'allOf', at));
    const other = sayingKeywords(part).find((name) => !mergeable.includes(name));
    if (other !== undefined)
      refuse(place, `\`${other}\` in one of several schemas of \`allOf\` is not supported`);
    if ([part.type].flat().some((type) => type !== undefined && type !== 'object'))
      refuse(place, '`allOf` of several schemas is supported of objects alone');
    return part;
  });
  const names = parts.flatMap(({ properties = {} }) => Object.keys(properties));
  if (new Set(names).size < names.length) refuse(place, '`allOf` with a property twice is not supported');
  const required = parts.flatMap((part) => part.required ?? []);
  const all = [...names, ...required];
  place.budget.spend(all.length);
  const isClosed = ({ properties = {}, additionalProperties = true }: Schema) =>
    additionalProperties !== true &&
    (all.length === 0 || all.some((name) => !Object.hasOwn(properties, name)));
  if (parts.some(isClosed))
    refuse(place, '`additionalProperties` in one of several schemas of `allOf` is not supported');
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required,
  };
}

/** References in a row that are followed. */
const MOST_STEPS = 20;

function follow(schema: unknown, place: Place): unknown {
  let found = schema;
  for (let step = 0; step < MOST_STEPS && isObject(found) && typeof found.$ref === 'string'; step++)
    found = resolve(found.$ref, place);
  return found;
}

/** A branch that says no type is of the type that stands beside the choice. */
function withType(branch: Readonly<Record<string, unknown>>, { type }: Schema, place: Place): unknown {
  const own = branch.type;
  if (own === undefined && branch.$ref === undefined) return { ...branch, type };
  const outer = [type].flat();
  if (own === undefined || [own].flat().some((one) => !outer.includes(one as JsonType)))
    refuse(place, '`type` beside a choice of schemas is not supported where they are of others');
  return branch;
}

const allTypes: readonly JsonType[] = ['object', 'array', 'string', 'number', 'boolean', 'null'];

/** The types that it names; else those that its keywords speak of; else all. */
function typesOf(schema: Schema): readonly JsonType[] {
  if (schema.type !== undefined) return [...new Set([schema.type].flat())];
  const spoken = (['object', 'array', 'string', 'number'] as const).filter((type) =>
    keywordsOfType[type].some((name) => schema[name] !== undefined),
  );
  return spoken.length === 0 ? allTypes : spoken;
}

function ofType(schema: Schema, type: JsonType, place: Place): Pattern {
  switch (type) {
    case 'object':
      return objectOf(schema, place);
    case 'array':
      return arrayOf(schema, place);
    case 'string':
      return textOf(schema, place);
    case 'number':
    case 'integer':
      return numberOf(schema, type, place);
    case 'boolean':
      return jsonBoolean;
    case 'null':
      return jsonNull;
  }
}

function objectOf(schema: Schema, place: Place): Pattern {
  const {
    properties = {},
    required = [],
    additionalProperties = true,
    propertyNames,
    patternProperties,
  } = schema;
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
  let shared: Pattern | undefined;
  const other = (): Pattern => {
    shared ??= patternOf(additionalProperties, within(place, 'additionalProperties'));
    return shared;
  };
  const isRequired = new Set(required);
  const listed = namesOf(propertyNames);
  const names = [...new Set([...Object.keys(properties), ...required, ...(listed ?? [])])];
  const patterns = Object.entries(patternProperties ?? {});
  if (names.length > 0) {
    if (names.length > MOST_PROPERTIES) refuse(place, `it has more than ${MOST_PROPERTIES} \`properties\``);
    if (patterns.length > 0) refuse(place, '`patternProperties` beside named ones is not supported');
    const isListed = new Set(listed);
    if (propertyNames !== undefined && (listed === undefined || names.some((name) => !isListed.has(name))))
      refuse(place, '`propertyNames` beside named ones is not supported');
    if (minProperties > isRequired.size)
      refuse(place, '`minProperties` above what is `required` is not supported');
    if (maxProperties < names.length)
      refuse(place, '`maxProperties` below the number of `properties` is not supported');
    place.budget.spend(names.length * PARTS_OF_PROPERTY);
    return jsonObject(
      names.map((name) => ({
        name,
        value: Object.hasOwn(properties, name)
          ? patternOf(properties[name], within(place, 'properties', name))
          : other(),
        isRequired: isRequired.has(name),
      })),
    );
  }
  if (minProperties > 0) refuse(place, '`minProperties` is not supported, since names may come twice');
  if (patterns.length > 1) refuse(place, 'more than one of `patternProperties` is not supported');
  const [only] = patterns;
  if (only !== undefined) {
    if (propertyNames !== undefined)
      refuse(place, '`propertyNames` beside `patternProperties` is not supported');
    const key = quoted(expression(only[0], within(place, 'patternProperties')));
    return jsonMap(key, patternOf(only[1], within(place, 'patternProperties', only[0])), 0, maxProperties);
  }
  const isAny =
    additionalProperties === true && propertyNames === undefined && maxProperties > MOST_PROPERTIES;
  if (isAny) return anyObject;
  const key =
    propertyNames === undefined
      ? jsonText()
      : patternOf(ofText(propertyNames), within(place, 'propertyNames'));
  return jsonMap(key, other(), 0, maxProperties);
}

/** Names are texts, said or not. */
const ofText = (schema: unknown): unknown =>
  isObject(schema) && schema.type === undefined ? { ...schema, type: 'string' } : schema;

/** The names that there can be, where they are listed. */
function namesOf(propertyNames: unknown): readonly string[] | undefined {
  if (!isObject(propertyNames)) return undefined;
  const values = Array.isArray(propertyNames.enum)
    ? propertyNames.enum
    : Object.hasOwn(propertyNames, 'const')
      ? [propertyNames.const]
      : undefined;
  return values?.filter((value) => typeof value === 'string');
}

function arrayOf(schema: Schema, place: Place): Pattern {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems } = schema;
  if (uniqueItems === true && maxItems > 1) refuse(place, '`uniqueItems` is not supported');
  const isOld = Array.isArray(schema.items);
  const first = schema.prefixItems ?? (isOld ? (schema.items as readonly unknown[]) : []);
  const items = isOld ? schema.additionalItems : schema.items;
  const name = isOld ? 'additionalItems' : 'items';
  const firstName = isOld ? 'items' : 'prefixItems';
  place.budget.spend(first.length);
  const head = first.slice(0, maxItems).map((item, at) => patternOf(item, within(place, firstName, at)));
  const least = Math.max(0, minItems - head.length);
  if (minItems > maxItems) return never;
  if (
    head.length === 0 &&
    (items === undefined || items === true) &&
    least === 0 &&
    maxItems === Number.POSITIVE_INFINITY
  )
    return anyArray;
  if (items === false) return least > 0 ? never : jsonArray(head, never, 0, 0);
  const most = head.length > 0 && items === undefined ? least : maxItems - head.length;
  return jsonArray(head, patternOf(items ?? true, within(place, name)), least, most);
}
