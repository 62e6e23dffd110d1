import type { ClawLoopEvent } from './catalogue.ts';

const texts = new WeakMap<ClawLoopEvent, string>();

/** The event as it stands in a log. */
export const eventText = (event: ClawLoopEvent): string => texts.get(event) ?? JSON.stringify(event);

/** Spares `eventText` its work, where whoever made the event has its JSON. */
export const rememberEventText = (event: ClawLoopEvent, text: string): void => void texts.set(event, text);
