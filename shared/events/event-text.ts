import type { ClawLoopEvent } from './catalogue.ts';

const TEXT = Symbol('the JSON of this event');
type WithText = { readonly [TEXT]?: string | Buffer };

/** The event as it stands in a log: its JSON as text, or as the bytes of that. */
export const eventText = (event: ClawLoopEvent): string | Buffer =>
  (event as WithText)[TEXT] ?? JSON.stringify(event);

/**
 * Spares `eventText` its work, where whoever made the event has its JSON. Kept on the event, where nobody else
 * sees it.
 */
export function rememberEventText(event: ClawLoopEvent, text: string | Buffer): void {
  Object.defineProperty(event, TEXT, { value: text });
}
