import { shortHash } from '../../../shared/lang/short-hash.ts';
import type { ShownElement } from './in-page.ts';

/** The state of a page at one moment. */
export type PageState = { readonly goal: string; readonly elements: readonly ShownElement[] };

/** characters that texts are cut to, and elements that a list is cut to: no page of MiniWoB++ has as much */
const [LONGEST_TEXT, MOST_ELEMENTS] = [2_000, 400];

/** A page as text: its goal, and one line for each element, such as `[3] input text "Name" value="Ann" focused`. */
export function textOfPage({ goal, elements }: PageState): string {
  const lines = elements
    .slice(0, MOST_ELEMENTS)
    .map((element) => `[${element.ref}] ${describeElement(element)}`);
  const more = elements.length - lines.length;
  return [`Goal: ${goal}`, '', ...lines, ...(more > 0 ? [`and ${more} more elements`] : [])].join('\n');
}

function describeElement(element: ShownElement): string {
  const { tag, type, text, className, value, options, scroll, states } = element;
  return [
    tag,
    ...(type === undefined ? [] : [type]),
    ...(text === undefined ? [] : [quoted(text)]),
    ...(className === undefined ? [] : [`class=${quoted(className)}`]),
    ...(value === undefined ? [] : [`value=${quoted(value)}`]),
    ...(options === undefined ? [] : [`options=[${options.map(quoted).join(', ')}]`]),
    ...(scroll === undefined ? [] : [`scrolled=${scroll[0]}/${scroll[1]}`]),
    ...states,
  ].join(' ');
}

const quoted = (text: string): string =>
  JSON.stringify(text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text);

/** Equal for pages with the same content: the numbers of elements depend on earlier observations, and do not count. */
export const stateKeyOf = ({ goal, elements }: PageState): string =>
  shortHash(JSON.stringify([goal, elements.map(({ ref: _, ...shown }) => shown)]));
