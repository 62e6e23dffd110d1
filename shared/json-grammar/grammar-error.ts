const isGrammar = Symbol('clawloop.grammar-error');

/** A schema or expression that the matcher cannot follow, or that costs too much to follow. */
export type GrammarError = Error & {
  /** Why, without the place. */
  readonly reason: string;
  /** JSON pointer into the schema, e.g. `#/properties/age`; absent if the error concerns no single part. */
  readonly path?: string;
};

/** The message is the reason, followed by the path if there is one. */
export function grammarError(reason: string, path?: string): GrammarError {
  const message = path === undefined ? reason : `${reason} (at ${JSON.stringify(path)} of the schema)`;
  return Object.assign(
    new Error(message),
    { [isGrammar]: true, name: 'GrammarError', reason },
    path === undefined ? undefined : { path },
  );
}

export const isGrammarError = (error: unknown): error is GrammarError =>
  typeof error === 'object' && error !== null && isGrammar in error;
