/** Values by name: a Map, or rows of a file. */
export type Keyed<Value> = {
  readonly get: (name: string) => Value | undefined;
  readonly has: (name: string) => boolean;
  readonly set: (name: string, value: Value) => unknown;
};
