import { constrainingKeywords, type JsonType, type Schema } from './schema-keywords.ts';
import { isObject, membersOf, type Place, readSchema, refuse, resolve, within } from './schema-place.ts';

const mergeable = ['type', 'properties', 'required', 'additionalProperties'];

/**
 * One object schema from an `allOf` and the keywords beside it, which must not share properties.
 * @throws GrammarError
 */
export function mergedSchema(
  { allOf: _, ...siblings }: Schema,
  branches: readonly unknown[],
  place: Place,
): object {
  const parts = [siblings, ...branches].map((branch, at) => {
    const target = follow(branch, place);
    if (isObject(target)) place.budget.spend(1 + membersOf(target));
    const part = readSchema(target, within(place, 'allOf', at));
    const other = constrainingKeywords(part).find((name) => !mergeable.includes(name));
    if (other !== undefined) refuse(place, `\`${other}\` in \`allOf\` with several schemas is not supported`);
    if ([part.type].flat().some((type) => type !== undefined && type !== 'object'))
      refuse(place, '`allOf` with several schemas is supported only for objects');
    return part;
  });
  const names = parts.flatMap(({ properties = {} }) => Object.keys(properties));
  if (new Set(names).size < names.length)
    refuse(place, '`allOf` with the same property twice is not supported');
  const required = parts.flatMap((part) => part.required ?? []);
  const all = [...names, ...required];
  place.budget.spend(all.length);
  const isClosed = ({ properties = {}, additionalProperties = true }: Schema) =>
    additionalProperties !== true &&
    (all.length === 0 || all.some((name) => !Object.hasOwn(properties, name)));
  if (parts.some(isClosed))
    refuse(place, '`additionalProperties` in `allOf` with several schemas is not supported');
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required,
  };
}

/** The longest chain of references that is followed. */
const MOST_STEPS = 20;

function follow(schema: unknown, place: Place): unknown {
  let target = schema;
  for (let step = 0; step < MOST_STEPS && isObject(target) && typeof target.$ref === 'string'; step++)
    target = resolve(target.$ref, place);
  return target;
}

/** A branch without a type gets the type that is given beside the choice. */
export function withType(branch: Readonly<Record<string, unknown>>, { type }: Schema, place: Place): unknown {
  const branchType = branch.type;
  if (branchType === undefined && branch.$ref === undefined) return { ...branch, type };
  const outer = [type].flat();
  if (branchType === undefined || [branchType].flat().some((name) => !outer.includes(name as JsonType)))
    refuse(
      place,
      '`type` beside `anyOf` or `oneOf` is not supported if one of their schemas has another type',
    );
  return branch;
}
