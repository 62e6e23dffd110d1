import type { ClawLoopEvent } from './catalogue.ts';

const TEXT = Symbol('the JSON of this event');
type Text = string | Buffer<ArrayBuffer>;
type WithText = { readonly [TEXT]?: () => Text };

/**
 * The event as it stands in a log: its JSON as text, or as the bytes of that. Bytes are the caller's own, in a
 * buffer where nothing else stands: they may be handed over to another thread.
 */
export const eventText = (event: ClawLoopEvent): Text =>
  (event as WithText)[TEXT]?.() ?? JSON.stringify(event);

/**
 * Spares `eventText` its work, where whoever made the event has its JSON in pieces: `text` puts them together,
 * anew for each who asks. Kept on the event, where nobody else sees it.
 */
export function rememberEventText(event: ClawLoopEvent, text: () => Text): void {
  Object.defineProperty(event, TEXT, { value: text });
}
