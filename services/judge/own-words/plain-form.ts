import { withoutInvisible } from '../../../shared/secrets/fold-text.ts';

/** Everything but `\n` that a reader sees as the end of a line. */
const lineEnd = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
/** Colons of other scripts, which no space follows. */
const wideColon = /[：﹕︰︓]\s?/g;
const entity =
  /&(?:amp;){0,4}(?:(lt|#0{0,4}60|#x0{0,4}3c)|(gt|#0{0,4}62|#x0{0,4}3e)|quot|#0{0,4}34|#x0{0,4}22);/gi;

/**
 * The text with its marks in the form that the rules know: one kind of line end, no invisible characters, no
 * full-width forms, no entities of HTML.
 */
export const plainForm = (text: string): string =>
  withoutInvisible(text)
    .replace(lineEnd, '\n')
    .replace(wideColon, ': ')
    .normalize('NFKC')
    .replace(entity, (_, less?: string, greater?: string) => (less ? '<' : greater ? '>' : '"'));
