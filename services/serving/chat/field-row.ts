import { z } from 'zod';

/** What becomes of a field of a request: its row in docs/compatibility.md. */
export type FieldRow = { readonly does: 'honoured' | 'hint' | 'refused'; readonly about: string };

const rows = z.registry<FieldRow>();

/** It does what the API says. */
export const honoured = <Schema extends z.ZodType>(schema: Schema, about: string): Schema =>
  row(schema, { does: 'honoured', about });

/** The API lets a server disregard it, and it changes no answer. */
export const hint = (about = 'not used') => row(z.unknown().optional(), { does: 'hint', about });

/** It asks for what there is not, unless its value is one of these, which ask for nothing. */
export const refused = (about: string, ...harmless: readonly unknown[]) =>
  row(
    z
      .unknown()
      .refine((value) => asksForNothing(value) || harmless.includes(value), `not supported: ${about}`)
      .optional(),
    { does: 'refused', about },
  );

const asksForNothing = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);

function row<Schema extends z.ZodType>(schema: Schema, said: FieldRow): Schema {
  rows.add(schema, said);
  return schema;
}

/** The rows of a body, by field. Throws where a field has none. */
export function rowsOf({ shape }: z.ZodObject): Readonly<Record<string, FieldRow>> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const said = rows.get(schema as z.ZodType);
      if (said === undefined) throw new Error(`what becomes of the field ${name} is not said`);
      return [name, said];
    }),
  );
}
