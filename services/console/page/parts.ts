import { html, nothing, type TemplateResult } from 'lit-html';
import type { Place } from '../../../shared/views/place.ts';
import type { Overview, TurnItem } from '../api/shapes.ts';
import { type Failure, isFailure } from './client.ts';
import type { Context, Loaded } from './context.ts';

export type Part = TemplateResult | typeof nothing | string;

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** Today only the time of day. */
function timeText(time: number | string): string {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : day.format(date);
}

export const timeOf = (time: number | string): TemplateResult =>
  html`<time datetime=${new Date(time).toISOString()} title=${new Date(time).toISOString()}>${timeText(time)}</time>`;

export const percent = (share: number): string => `${Math.round(100 * share)} %`;

export const plural = (count: number, noun: string, many = `${noun}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : many}`;

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

export const placeHref = ({ topic, partition, offset }: Place): string =>
  `#/record/${topic}/${partition}/${offset}`;
export const placeLink = (place: Place): TemplateResult =>
  html`<a class="place" href=${placeHref(place)}>${place.topic}/${place.partition}@${place.offset}</a>`;

export const turnLink = (id: string, text: string = id): TemplateResult =>
  html`<a href=${`#/turn/${encodeURIComponent(id)}`}>${text}</a>`;

/** A word with a colour and a sign, since not everybody tells colours apart. */
export const badge = (kind: 'good' | 'bad' | 'open' | 'plain', text: string): TemplateResult =>
  html`<span class="badge ${kind}"
    ><span aria-hidden="true">${{ good: '✓', bad: '✕', open: '…', plain: '·' }[kind]}</span> ${text}</span
  >`;

export const verdictBadge = ({ verdict, score }: Pick<TurnItem, 'verdict' | 'score'>): Part =>
  verdict === null || verdict === undefined
    ? nothing
    : verdict === 'good'
      ? badge('good', `good ${score === 1 ? '' : (score ?? '')}`)
      : verdict === 'bad'
        ? badge('bad', `bad ${score === -1 ? '' : (score ?? '')}`)
        : badge('plain', 'neither');

export const outcomeBadge = ({ outcome, stage }: Pick<TurnItem, 'outcome' | 'stage'>): TemplateResult =>
  badge(outcome === 'trained' ? 'good' : outcome === 'not-trained' ? 'plain' : 'open', stage);

/** From which time on the page shows everything, if records were trimmed. */
export function trimNote(overview: Overview | undefined): Part {
  const trimmed = overview?.trimmed ?? [];
  if (trimmed.length === 0) return nothing;
  const topics = trimmed.map(
    ({ topic, before }) =>
      html` Records of <code>${topic}</code> before ${before === null ? 'an unknown time' : timeOf(before)} were removed.`,
  );
  return html`<p class="quiet" data-test="trimmed">A trim keeps the log small.${topics} Turns from before are missing, or lack a part.</p>`;
}

export const empty = (title: string, more: Part): TemplateResult =>
  html`<div class="empty"><p class="lead">${title}</p><p>${more}</p></div>`;

export const failed = ({ message, status }: Failure): TemplateResult =>
  html`<div class="failure" role="alert"><strong>${status === 0 ? 'No answer' : 'That did not work'}.</strong> ${message}</div>`;

/** A part that is loaded, or why it is not. */
export const whenLoaded = <Value>(
  loaded: Loaded<Value>,
  view: (value: Value) => TemplateResult,
): TemplateResult =>
  loaded.kind === 'loaded'
    ? view(loaded.value)
    : loaded.kind === 'failed'
      ? failed(loaded.failure)
      : html`<p class="quiet">Loading …</p>`;

export const asFailure = (error: unknown): Failure =>
  isFailure(error) ? error : { status: 500, code: 'error', message: String(error) };

/**
 * Keeps the result of the latest load. While a newer one is on its way the older stays visible, and answers that come
 * late are ignored.
 */
export function createLoader<Value>(draw: () => void) {
  let state: Loaded<Value> = { kind: 'loading' };
  let latest = 0;
  let isBusy = false;
  let isWanted: (() => Promise<Value>) | undefined;
  const load = async (read: () => Promise<Value>): Promise<void> => {
    const mine = ++latest;
    isBusy = true;
    try {
      const value = await read();
      if (mine === latest) state = { kind: 'loaded', value };
    } catch (error) {
      if (mine === latest) state = { kind: 'failed', failure: asFailure(error) };
    }
    if (mine !== latest) return;
    isBusy = false;
    draw();
    const next = isWanted;
    isWanted = undefined;
    if (next !== undefined) void load(next);
  };
  return {
    state: () => state,
    /** Forgets what was loaded before. */
    load: (read: () => Promise<Value>): Promise<void> => {
      state = { kind: 'loading' };
      isWanted = undefined;
      return load(read);
    },
    /** One at a time; of several calls meanwhile the last one runs. */
    refresh: (read: () => Promise<Value>): void => {
      if (isBusy) isWanted = read;
      else void load(read);
    },
  };
}

/** A block of text with a button that copies it. */
export const copyable = (context: Context, label: string, text: string): TemplateResult =>
  html`<div class="copyable">
    <pre tabindex="0" aria-label=${label}><code>${text}</code></pre>
    <button
      type="button"
      aria-label=${`Copy: ${label}`}
      @click=${() =>
        navigator.clipboard.writeText(text).then(
          () => context.say('Copied.'),
          () => context.say('The browser does not allow copying; select the text instead.'),
        )}
    >
      Copy
    </button>
  </div>`;

/** A table that scrolls by itself on a narrow screen; keyboards can scroll it too. */
export const table = (
  label: string,
  head: readonly string[],
  rows: readonly TemplateResult[],
): TemplateResult =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr>
      </thead>
      <tbody>${rows}</tbody>
    </table>
  </div>`;
