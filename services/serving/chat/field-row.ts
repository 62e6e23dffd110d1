import { z } from 'zod';
import type { Omissions } from './omissions.ts';

/** What becomes of a field of a request: its row in docs/compatibility.md. */
export type FieldRow = {
  readonly does: 'honoured' | 'hint' | 'ignored' | 'refused';
  readonly about: string;
  /** Values that ask for nothing. */
  readonly harmless?: readonly unknown[];
};

const rows = z.registry<FieldRow>();

/** It does what the API says. */
export const honoured = <Schema extends z.ZodType>(schema: Schema, about: string): Schema =>
  row(schema, { does: 'honoured', about });

/** The API lets a server disregard it, and it changes no answer. */
export const hint = (about = 'not used') => row(z.unknown().optional(), { does: 'hint', about });

/** It is left out, and the answer names it, unless its value asks for nothing. */
export const ignored = (about: string, ...harmless: readonly unknown[]) =>
  row(z.unknown().optional(), { does: 'ignored', about, harmless });

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

/** Notes the fields of a body that are left out of it. @throws ServingError where those are refused */
export function noteOthers({ shape }: z.ZodObject, body: object, omissions: Pick<Omissions, 'field'>): void {
  for (const [name, value] of Object.entries(body)) {
    const said = Object.hasOwn(shape, name) ? rows.get(shape[name] as z.ZodType) : undefined;
    if (said === undefined) omissions.field(name);
    else if (said.does === 'ignored' && !asksForNothing(value) && !said.harmless!.includes(value))
      omissions.field(name, `${said.about}.`);
  }
}

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
