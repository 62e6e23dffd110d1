import type { ClawLoopEvent } from './catalogue.ts';

const TEXT = Symbol('the JSON of this event');
type Text = string | Buffer<ArrayBuffer>;
type WithText = { readonly [TEXT]?: () => Text };

/**
 * The JSON of an event for the log, as text or bytes. Bytes are in a separate buffer that belongs to the caller, so
 * they can be transferred to another thread.
 */
export const eventText = (event: ClawLoopEvent): Text =>
  (event as WithText)[TEXT]?.() ?? JSON.stringify(event);

/**
 * Lets `eventText` reuse JSON that the creator of the event already has in pieces. `text` joins them on each
 * call. It is stored on the event under a private symbol.
 */
export function rememberEventText(event: ClawLoopEvent, text: () => Text): void {
  Object.defineProperty(event, TEXT, { value: text });
}
