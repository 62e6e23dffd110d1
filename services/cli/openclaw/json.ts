import { isObject } from '../../../shared/lang/json.ts';

export type Json = { readonly [name: string]: unknown };

/** The object under a name, or an empty object. */
export const objectAt = (value: Json, name: string): Json => (isObject(value[name]) ? value[name] : {});
