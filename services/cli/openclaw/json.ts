export type Json = { readonly [name: string]: unknown };

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object under a name; an empty one where there is none. */
export const objectAt = (value: Json, name: string): Json => (isObject(value[name]) ? value[name] : {});
