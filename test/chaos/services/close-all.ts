/**
 * Closes all parts, the last opened one first.
 * @throws the error of a part that did not close, or an AggregateError of several
 */
export async function closeAll(closing: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of [...closing].reverse()) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join('; '));
  if (errors.length === 1) throw errors[0];
}
