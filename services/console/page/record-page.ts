import { html, nothing, type TemplateResult } from 'lit-html';
import type { RecordPage } from '../api/shapes.ts';
import { get } from './client.ts';
import type { Context, Page } from './context.ts';
import { createLoader, placeHref, turnLink, whenLoaded } from './parts.ts';

/** One record at its place, with its neighbours. */
export function recordPage(context: Context): Page {
  const loader = createLoader<RecordPage>(context.draw);
  return {
    title: 'Record',
    open: (rest) =>
      void loader.load(() => get<RecordPage>(`/api/records/${rest.map(encodeURIComponent).join('/')}`)),
    changed: () => {},
    view: () => html`${whenLoaded(loader.state(), show)}`,
  };
}

function show({ place, event, ends, starts }: RecordPage): TemplateResult {
  const { topic, partition, offset } = place;
  const link = (to: number, name: string) =>
    to < (starts[partition] ?? 0) || to >= (ends[partition] ?? 0)
      ? html`<span class="quiet">${name}</span>`
      : html`<a href=${placeHref({ ...place, offset: to })}>${name}</a>`;
  const turn = turnOf(event?.data ?? {});
  return html`
    <nav class="actions" aria-label="Neighbours">
      ${link(offset - 1, 'Previous record')} ${link(offset + 1, 'Next record')}
      ${turn === undefined ? nothing : turnLink(turn, 'Its turn')}
    </nav>
    <dl class="facts">
      <div><dt>Topic</dt><dd>${topic}</dd></div>
      <div><dt>Partition</dt><dd>${partition}</dd></div>
      <div><dt>Offset</dt><dd>${offset} of ${ends[partition]}</dd></div>
    </dl>
    ${
      event === null
        ? html`<p class="why">The record is no longer in the log, or cannot be read.</p>`
        : html`<pre class="json" tabindex="0" aria-label="The record"><code>${readable(event)}</code></pre>
          <p class="quiet">Secrets are removed, and long lists of numbers are shortened.</p>`
    }
  `;
}

/** As the log names it: a sample of a revised verdict ends in ~n. */
function turnOf(data: Readonly<Record<string, unknown>>): string | undefined {
  const id = data.turnId ?? data.interactionId ?? data.sampleId;
  return typeof id === 'string' ? id.replace(/~\d+$/, '') : undefined;
}

/** JSON with one line per list of numbers: token ids and logprobs are many. */
const readable = (event: object): string =>
  JSON.stringify(event, null, 2).replace(/\[\s+-?\d[^[\]{}"]*(?:"\.\.\.[^"]*")?\s*\]/g, (list) =>
    list.replace(/\s+/g, ' '),
  );
