import type { z } from 'zod';

/** A field of a config schema, as shown by `--help`, the docs and the start-up log line. */
export type Setting = {
  readonly name: string;
  readonly flag: string;
  readonly env: string;
  readonly type: 'string' | 'number' | 'boolean' | 'list';
  readonly default: unknown;
  readonly about: string;
  readonly secret: boolean;
};

type ConfigSchema = z.ZodObject<z.ZodRawShape>;

/**
 * Describes the fields of a schema. Fields in `shared` belong to all services: `CLAWLOOP_DATA_FOLDER`, not
 * `CLAWLOOP_JUDGE_DATA_FOLDER`. A service's name is not repeated: the judge's `judgeModel` is
 * `CLAWLOOP_JUDGE_MODEL`.
 */
export function describeSettings(
  schema: ConfigSchema,
  service: string,
  shared: ReadonlySet<string>,
): readonly Setting[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    return {
      name,
      flag: flagNameOf(name),
      env: envNameOf(name, shared.has(name) || isNamedAfter(name, service) ? undefined : service),
      type: typeOf(field as z.ZodType),
      default: defaultOf(field as z.ZodType),
      about: (field as z.ZodType).description ?? '',
      secret: isSecretSetting(name),
    };
  });
}

const isNamedAfter = (name: string, service: string): boolean => wordsOf(name).startsWith(`${service}-`);

/** Whether a setting is a secret, by its name. */
export const isSecretSetting = (name: string): boolean =>
  /key|token|password|secret/i.test(name) && !/path|file|folder|limit|budget|tokens/i.test(name);

const wordsOf = (name: string): string => name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);

export const flagNameOf = (name: string): string => `--${wordsOf(name)}`;

/** @param service undefined: the setting is shared by all services */
export const envNameOf = (name: string, service: string | undefined): string =>
  `CLAWLOOP_${service === undefined ? '' : `${service.toUpperCase()}_`}${wordsOf(name).replaceAll('-', '_').toUpperCase()}`;

/** Converts the text of a flag or variable to the field's type; the schema refuses text that does not convert. */
export function readSetting(setting: Setting, text: string): unknown {
  switch (setting.type) {
    case 'number':
      return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
    case 'boolean':
      return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text;
    case 'list':
      return text.split(',').map((part) => part.trim());
    default:
      return text;
  }
}

type Definition = {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly defaultValue?: unknown;
  readonly values?: readonly unknown[];
  readonly in?: z.ZodType;
};
const definitionOf = (field: z.ZodType) => field.def as unknown as Definition;

function typeOf(field: z.ZodType): Setting['type'] {
  const { type, innerType, in: input } = definitionOf(field);
  if (innerType !== undefined) return typeOf(innerType);
  if (input !== undefined) return typeOf(input);
  if (type === 'number' || type === 'int') return 'number';
  if (type === 'boolean') return 'boolean';
  return type === 'array' ? 'list' : 'string';
}

function defaultOf(field: z.ZodType): unknown {
  const { type, innerType, defaultValue } = definitionOf(field);
  if (type === 'default') return defaultValue;
  return innerType === undefined ? undefined : defaultOf(innerType);
}
