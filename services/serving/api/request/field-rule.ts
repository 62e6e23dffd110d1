import type { z } from 'zod';

/**
 * What happens to a field of a chat request. `honoured`: the schema reads it. `hint`: it changes no answer and is
 * not used. `ignored`: it is left out, and the answer names it, like an unknown field. `refused`: the request gets
 * a 400 that names the field. Harmless values of ignored and refused fields have no effect.
 */
export type FieldRule =
  | { readonly does: 'honoured'; readonly schema: z.ZodType; readonly about: string }
  | { readonly does: 'hint'; readonly about: string }
  | {
      readonly does: 'ignored' | 'refused';
      readonly harmless: (value: unknown) => boolean;
      readonly about: string;
    };

export const honoured = <Schema extends z.ZodType>(schema: Schema, about: string) =>
  ({ does: 'honoured', schema, about }) as const;
export const hint = (about: string) => ({ does: 'hint', about }) as const;
export const ignored = (about: string, harmless: (value: unknown) => boolean = () => false) =>
  ({ does: 'ignored', about, harmless }) as const;
export const refused = (about: string, harmless: (value: unknown) => boolean = () => false) =>
  ({ does: 'refused', about, harmless }) as const;
