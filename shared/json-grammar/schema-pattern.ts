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
import { createPatternBudget } from './pattern-budget.ts';
import { areApart } from './schema-apart.ts';
import { mergedSchema, withType } from './schema-branches.ts';
import { type JsonType, keywordsOfType, refusedKeywords, type Schema } from './schema-keywords.ts';
import {
  alone,
  isObject,
  membersOf,
  type Place,
  placeOfRoot,
  readSchema,
  refuse,
  resolve,
  within,
} from './schema-place.ts';
import { expression, numberOf, textOf, valuesOf } from './schema-scalars.ts';
import { quoted } from './string-patterns.ts';

/** Properties of one object, and schemas of one choice: each costs time with every code point. */
const MOST_PROPERTIES = 1_000;
const MOST_BRANCHES = 500;
/** Parts of one property of an object, besides its value. */
const PARTS_OF_PROPERTY = 6;

/**
 * A pattern of the JSON texts of a schema. Every text of the pattern is a value of the schema, but not every
 * value matches: an object has its `properties` in their order and no others.
 *
 * @param budget pays for every part of the pattern; share one budget among the schemas of one answer
 * @throws GrammarError for a schema that is invalid or not supported
 */
export const schemaPattern = (schema: unknown, budget = createPatternBudget()): Pattern =>
  patternOf(schema, placeOfRoot(schema, budget));

/** Each schema of the document is processed once, however many references lead to it. */
function patternOf(given: unknown, place: Place): Pattern {
  if (given === true) return jsonValue;
  if (given === false) return never;
  if (!isObject(given)) return newPattern(given, place);
  const { patterns } = place.known;
  const known = patterns.get(given);
  if (known !== undefined) return known;
  if (patterns.has(given)) return rule(() => patterns.get(given) ?? never); // a schema that contains itself
  patterns.set(given, undefined);
  const pattern = newPattern(given, place);
  patterns.set(given, pattern);
  return pattern;
}

function newPattern(given: unknown, place: Place): Pattern {
  if (isObject(given)) place.budget.spend(1 + membersOf(given));
  const schema = readSchema(given, place);
  const refused = refusedKeywords.find((name) => schema[name] !== undefined && !isImplied(schema, name));
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

/** Generated objects have only named properties, so a keyword that forbids others changes nothing. */
const isImplied = (schema: Schema, name: string): boolean =>
  (name === 'unevaluatedProperties' || name === 'unevaluatedItems') && schema[name] === false;

function referred(reference: string, place: Place): Pattern {
  const { rules } = place.known;
  const known = rules.get(reference);
  if (known !== undefined) return known;
  const target = resolve(reference, place);
  let pattern: Pattern | undefined;
  const named = rule(() => pattern ?? never);
  rules.set(reference, named);
  pattern = patternOf(target, { ...place, at: { before: undefined, step: reference } });
  return named;
}

function combined(schema: Schema, name: 'anyOf' | 'oneOf' | 'allOf', place: Place): Pattern {
  const branches = schema[name]!;
  if (branches.length > MOST_BRANCHES) refuse(place, `\`${name}\` has more than ${MOST_BRANCHES} schemas`);
  if (name === 'allOf' && branches.length > 1) return patternOf(mergedSchema(schema, branches, place), place);
  alone(schema, place, name, 'type');
  if (name === 'oneOf' && !areApart(branches, (reference) => resolve(reference, place), place.budget))
    refuse(
      place,
      '`oneOf` needs schemas that cannot match the same value: of different types, or with a required property whose `const` differs',
    );
  const typed = branches.map((branch) =>
    isObject(branch) && schema.type !== undefined ? withType(branch, schema, place) : branch,
  );
  return choice(...typed.map((branch, at) => patternOf(branch, within(place, name, at))));
}

const allTypes: readonly JsonType[] = ['object', 'array', 'string', 'number', 'boolean', 'null'];

/** The types that the schema names, else the types that its keywords constrain, else all types. */
function typesOf(schema: Schema): readonly JsonType[] {
  if (schema.type !== undefined) return [...new Set([schema.type].flat())];
  const constrained = (['object', 'array', 'string', 'number'] as const).filter((type) =>
    keywordsOfType[type].some((name) => schema[name] !== undefined),
  );
  return constrained.length === 0 ? allTypes : constrained;
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
  let additional: Pattern | undefined;
  const additionalValue = (): Pattern => {
    additional ??= patternOf(additionalProperties, within(place, 'additionalProperties'));
    return additional;
  };
  const isRequired = new Set(required);
  const listed = namesOf(propertyNames);
  const names = [...new Set([...Object.keys(properties), ...required, ...(listed ?? [])])];
  const patterns = Object.entries(patternProperties ?? {});
  if (names.length > 0) {
    if (names.length > MOST_PROPERTIES) refuse(place, `it has more than ${MOST_PROPERTIES} \`properties\``);
    if (patterns.length > 0) refuse(place, '`patternProperties` beside named properties is not supported');
    const isListed = new Set(listed);
    if (propertyNames !== undefined && (listed === undefined || names.some((name) => !isListed.has(name))))
      refuse(place, '`propertyNames` beside named properties is not supported');
    if (minProperties > isRequired.size)
      refuse(place, '`minProperties` above the number of `required` properties is not supported');
    if (maxProperties < names.length)
      refuse(place, '`maxProperties` below the number of `properties` is not supported');
    place.budget.spend(names.length * PARTS_OF_PROPERTY);
    return jsonObject(
      names.map((name) => ({
        name,
        value: Object.hasOwn(properties, name)
          ? patternOf(properties[name], within(place, 'properties', name))
          : additionalValue(),
        isRequired: isRequired.has(name),
      })),
    );
  }
  if (minProperties > 0)
    refuse(place, '`minProperties` is not supported for unnamed properties, since a name can occur twice');
  if (patterns.length > 1) refuse(place, 'more than one pattern in `patternProperties` is not supported');
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
      : patternOf(withStringType(propertyNames), within(place, 'propertyNames'));
  return jsonMap(key, additionalValue(), 0, maxProperties);
}

/** Names are strings, even if their schema gives no type. */
const withStringType = (schema: unknown): unknown =>
  isObject(schema) && schema.type === undefined ? { ...schema, type: 'string' } : schema;

/** The possible names, if the schema lists them. */
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
  const isTuple = Array.isArray(schema.items); // before draft 2020-12
  const first = schema.prefixItems ?? (isTuple ? (schema.items as readonly unknown[]) : []);
  const items = isTuple ? schema.additionalItems : schema.items;
  const name = isTuple ? 'additionalItems' : 'items';
  const firstName = isTuple ? 'items' : 'prefixItems';
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
