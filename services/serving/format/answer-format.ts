import type { Schema } from './schema-keywords.ts';

/** What an answer has to be. `param`: the field of the request that asked, for what is said of it. */
export type AnswerFormat = { readonly param: string } & (
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: Schema | boolean; readonly name?: string }
  | { readonly kind: 'regex'; readonly regex: string }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'grammar'; readonly grammar: string }
);
