import { z } from 'zod';
import type { Omissions } from './omissions.ts';

/** What happens to a field of a request: its row in docs/use/api.md. See `FieldRule`. */
type FieldRow = {
  readonly does: 'honoured' | 'hint' | 'ignored' | 'refused';
  readonly about: string;
  /** Values without effect. */
  readonly harmless?: readonly unknown[];
};

const rows = z.registry<FieldRow>();

/** The field works as the API documents it. */
export const honoured = <Schema extends z.ZodType>(schema: Schema, about: string): Schema =>
  row(schema, { does: 'honoured', about });

/** The API allows a server to disregard the field, and it changes no answer. */
export const hint = (about = 'not used') => row(z.unknown().optional(), { does: 'hint', about });

/** The field is left out and the answer names it, unless its value is harmless. */
export const ignored = (about: string, ...harmless: readonly unknown[]) =>
  row(z.unknown().optional(), { does: 'ignored', about, harmless });

/** The request is refused, unless the value is harmless. */
export const refused = (about: string, ...harmless: readonly unknown[]) =>
  row(
    z
      .unknown()
      .refine((value) => isEmpty(value) || harmless.includes(value), `not supported: ${about}`)
      .optional(),
    { does: 'refused', about },
  );

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

/** Notes ignored and unknown fields of a body. @throws ServingError with --strict-fields */
export function noteOmittedFields(
  { shape }: z.ZodObject,
  body: object,
  omissions: Pick<Omissions, 'field'>,
): void {
  for (const [name, value] of Object.entries(body)) {
    const fieldRow = Object.hasOwn(shape, name) ? rows.get(shape[name] as z.ZodType) : undefined;
    if (fieldRow === undefined) omissions.field(name);
    else if (fieldRow.does === 'ignored' && !isEmpty(value) && !fieldRow.harmless!.includes(value))
      omissions.field(name, `${fieldRow.about}.`);
  }
}

function row<Schema extends z.ZodType>(schema: Schema, fieldRow: FieldRow): Schema {
  rows.add(schema, fieldRow);
  return schema;
}

/** The rows of a body, by field. Throws if a field has none. */
export function rowsOf({ shape }: z.ZodObject): Readonly<Record<string, FieldRow>> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const fieldRow = rows.get(schema as z.ZodType);
      if (fieldRow === undefined) throw new Error(`the field ${name} has no row`);
      return [name, fieldRow];
    }),
  );
}
