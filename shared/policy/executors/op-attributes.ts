/** TensorFlow's numbers for its types (types.proto). */
export const types = { float32: 1, int32: 3, complex64: 8 } as const;
export type TypeName = keyof typeof types;

/**
 * Attributes of an op: a type by its name, an integer or a flag. Reuse the objects: each is translated once.
 */
export type Attributes = Readonly<Record<string, TypeName | number | boolean>>;
