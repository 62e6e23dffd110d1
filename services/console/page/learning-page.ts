import { html, nothing, type TemplateResult } from 'lit-html';
import type { Learning } from '../api/shapes.ts';
import { drawShares } from './chart.ts';
import { checksPanel } from './checks-panel.ts';
import { get } from './client.ts';
import type { Context, Page } from './context.ts';
import {
  badge,
  createLoader,
  empty,
  percent,
  plural,
  table,
  timeOf,
  trimNote,
  turnLink,
  whenLoaded,
} from './parts.ts';

/** Is it learning? Verdicts by version and over time, with what they allow to say. */
export function learningPage(context: Context): Page {
  const loader = createLoader<Learning>(context.draw);
  const checks = checksPanel(context);
  let by: 'version' | 'time' = 'version';
  const read = () => get<Learning>(`/api/learning?adapter=${encodeURIComponent(context.adapter())}`);
  return {
    title: 'Is it learning?',
    open: () => {
      void loader.load(read);
      checks.open();
    },
    changed: () => {
      loader.refresh(read);
      checks.changed();
    },
    view: () =>
      html`${trimNote(context.overview())} ${whenLoaded(loader.state(), (learning) =>
        learning.all.turns === 0
          ? empty(
              'Nothing to learn from yet.',
              html`<a href="#/">Chat</a>, and react to an answer as you would to a person.`,
            )
          : html`
              <p class="lead" data-test="sentence">${learning.sentence}</p>
              ${figures(learning)} ${chartOf(learning)} ${checks.view()} ${complaintsOf(learning)}
            `,
      )}`,
  };

  function chartOf(learning: Learning): TemplateResult {
    const choose = (value: typeof by) => () => {
      by = value;
      context.draw();
    };
    setTimeout(() => drawShares(document.querySelector('#shares') ?? undefined, learning, by));
    return html`<section>
      <h2>Share of good verdicts</h2>
      <div class="choice" role="group" aria-label="By version or over time">
        <button type="button" aria-pressed=${by === 'version'} @click=${choose('version')}>By version</button>
        <button type="button" aria-pressed=${by === 'time'} @click=${choose('time')}>Over time</button>
      </div>
      <div id="shares" class="chart" role="img" aria-label="Share of good verdicts; the table below has the numbers"></div>
      <p class="quiet">The band is a 95 % interval (Wilson). Verdicts of 0, neither good nor bad, are left out.</p>
      ${by === 'version' ? byVersion(learning) : byTime(learning)}
    </section>`;
  }
}

const figures = ({ all, versions }: Learning): TemplateResult => html`<dl class="figures">
  <div><dt>Turns</dt><dd>${all.turns.toLocaleString('en')}</dd></div>
  <div><dt>Good</dt><dd>${all.good.toLocaleString('en')}</dd></div>
  <div><dt>Bad</dt><dd>${all.bad.toLocaleString('en')}</dd></div>
  <div><dt>Neither</dt><dd>${all.neither.toLocaleString('en')}</dd></div>
  <div><dt>Versions</dt><dd>${versions.length}</dd></div>
</dl>`;

type Point = Learning['all'];
const cells = ({ share, low, high, total, good, bad, neither, turns }: Point): TemplateResult => html`
  <td class="number">${total === 0 ? '' : percent(share)}</td>
  <td class="number">${total === 0 ? '' : `${percent(low)} to ${percent(high)}`}</td>
  <td class="number">${good}</td>
  <td class="number">${bad}</td>
  <td class="number">${neither}</td>
  <td class="number">${turns}</td>
`;
const columns = ['Good', '95 % interval', 'Good turns', 'Bad turns', 'Neither', 'Turns'];
/** Rows of a table of numbers; the chart shows all. */
const ROWS = 30;

const byVersion = ({ versions }: Learning): TemplateResult =>
  table(
    'Verdicts by version',
    ['Version', ...columns, 'Since'],
    versions
      .slice(-ROWS)
      .reverse()
      .map(
        (point) =>
          html`<tr>
            <th scope="row"><a href=${`#/turns?version=${point.version}`}>v${point.version}</a></th>
            ${cells(point)}
            <td>${timeOf(point.from)}</td>
          </tr>`,
      ),
  );

const byTime = ({ overTime }: Learning): TemplateResult =>
  table(
    'Verdicts over time',
    ['From', ...columns, 'Versions'],
    overTime
      .slice(-ROWS)
      .reverse()
      .map(
        (point) =>
          html`<tr>
            <th scope="row">${timeOf(point.from)}</th>
            ${cells(point)}
            <td>${point.versions[0] === point.versions[1] ? `v${point.versions[0]}` : `v${point.versions[0]} to v${point.versions[1]}`}</td>
          </tr>`,
      ),
  );

const complaintsOf = ({ complaints, setAside }: Learning): TemplateResult => html`<section>
  <h2>What people complained about</h2>
  ${
    complaints.length === 0
      ? html`<p class="quiet">No complaint of a known kind yet.</p>`
      : table(
          'Complaints',
          ['Wish', 'Times', 'Last', 'Sessions since without it'],
          complaints.map(
            ({ wish, hint, times, last, lastTurn, sessionsSince }) =>
              html`<tr>
              <th scope="row">${hint} ${setAside.includes(wish) ? badge('plain', 'set aside') : nothing}</th>
              <td class="number">${times}</td>
              <td>${turnLink(lastTurn, 'the turn')}, ${timeOf(last)}</td>
              <td class="number">${plural(sessionsSince, 'session')}</td>
            </tr>`,
          ),
        )
  }
</section>`;
