/** characters that a policy sees of one output */
const OUTPUT_LIMIT = 10_000;

/** A text, or its first and last halves of the limit with a line that counts what is left out. */
export function clip(text: string, limit: number = OUTPUT_LIMIT): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const omitted = text.length - 2 * half;
  return `${text.slice(0, half)}\n[... ${omitted} characters omitted ...]\n${text.slice(-half)}`;
}
