import { z } from 'zod';

const types = z.enum(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
export type JsonType = z.output<typeof types>;
const count = z.int().min(0);
const schemas = z.array(z.unknown()).min(1);

/** The supported keywords of JSON Schema, up to draft 2020-12. */
export const schemaKeywords = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([types, z.array(types).min(1)]).optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  const: z.unknown().optional(),
  anyOf: schemas.optional(),
  oneOf: schemas.optional(),
  allOf: schemas.optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
  patternProperties: z.record(z.string(), z.unknown()).optional(),
  propertyNames: z.unknown().optional(),
  minProperties: count.optional(),
  maxProperties: count.optional(),
  items: z.unknown().optional(),
  prefixItems: z.array(z.unknown()).optional(),
  additionalItems: z.unknown().optional(),
  minItems: count.optional(),
  maxItems: count.optional(),
  uniqueItems: z.boolean().optional(),
  minLength: count.optional(),
  maxLength: count.optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  multipleOf: z.number().gt(0).optional(),
});
export type Schema = z.output<typeof schemaKeywords>;

/** Keywords that constrain values of one type only. */
export const keywordsOfType: Readonly<
  Record<'object' | 'array' | 'string' | 'number', readonly (keyof Schema)[]>
> = {
  object: [
    ...(['properties', 'required', 'additionalProperties', 'patternProperties'] as const),
    ...(['propertyNames', 'minProperties', 'maxProperties'] as const),
  ],
  array: ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

/** Keywords that constrain values, but are not supported. All other keywords constrain nothing. */
export const refusedKeywords = [
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'contains',
  'minContains',
  'maxContains',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$dynamicRef',
  '$recursiveRef',
] as const;

/** The keywords of a schema that constrain its values. */
export const constrainingKeywords = (schema: Schema): readonly string[] => {
  const all = [...Object.keys(schemaKeywords.shape), ...refusedKeywords];
  return all.filter((name) => Object.hasOwn(schema, name) && schema[name] !== undefined);
};
