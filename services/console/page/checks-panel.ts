import { html, nothing, type TemplateResult } from 'lit-html';
import type { VersionChecks } from '../api/shapes.ts';
import { get } from './client.ts';
import type { Context } from './context.ts';
import { createLoader, type Part, percent, placeLink, plural, table, timeOf, whenLoaded } from './parts.ts';

type Tally = { readonly turns: number; readonly bad: number };
type Canary = NonNullable<VersionChecks['canary']>;

/** How bad versions are stopped: canary, automatic rollback, their decisions, and what the gate measured. */
export function checksPanel(context: Context) {
  const loader = createLoader<VersionChecks>(context.draw);
  const read = () =>
    get<VersionChecks>(`/api/version-checks?adapter=${encodeURIComponent(context.adapter())}`);
  return {
    open: () => void loader.load(read),
    changed: () => loader.refresh(read),
    view: (): TemplateResult => html`<section id="checks">
      <h2>How bad versions are stopped</h2>
      ${whenLoaded(
        loader.state(),
        (checks) => html`
          <h3>Canary</h3>
          ${checks.canary === null ? noCanary(checks) : canaryOf(checks.canary, checks)}
          <h3>Automatic rollback</h3>
          ${watchOf(checks)}
          <h3>Past decisions</h3>
          ${decisionsOf(checks)}
          <h3>What the gate measured</h3>
          ${gateOf(checks)}
        `,
      )}
    </section>`,
  };
}

const badOf = ({ turns, bad }: Tally): string =>
  turns === 0 ? 'no verdict yet' : `${bad} of ${plural(turns, 'verdict')} bad (${percent(bad / turns)})`;

/** Two digits where they matter. */
const rounded = (value: number): string =>
  value < 0.1 ? '0' : value < 10 ? value.toPrecision(2) : Math.round(value).toLocaleString('en');

/** Evidence grows by factors, so the bar is logarithmic: empty up to 1, full at the limit. */
function meter(label: string, evidence: number, alpha: number | undefined): TemplateResult {
  if (alpha === undefined) return html`${rounded(evidence)}`;
  const share = evidence <= 1 ? 0 : Math.min(1, Math.log(evidence) / -Math.log(alpha));
  return html`<progress max="1" .value=${share} aria-label=${label}></progress> ${rounded(evidence)} of ${rounded(1 / alpha)}`;
}

function noCanary({ settings }: VersionChecks): TemplateResult {
  const share = settings?.training.canaryShare ?? 0;
  return share > 0
    ? html`<p>None is running. The next version that passes the gate first answers ${percent(share)} of the sessions.</p>`
    : html`<p class="quiet">Off: a version that passes the gate answers everybody at once. <code>--canary-share 0.1</code> lets it answer a tenth of the sessions first. This suits a team; one person's verdicts are too few.</p>`;
}

function canaryOf(canary: Canary, { settings }: VersionChecks): TemplateResult {
  const { from, to, share, since, sessions, parent, candidate, evidence } = canary;
  const { alpha, margin, turns, hours } = settings?.canary ?? {};
  return html`
    <p>v${to} answers ${percent(share)} of the sessions since ${timeOf(since)}; v${from} answers the others.</p>
    ${table(
      'Running canary',
      ['Version', 'Sessions', 'Verdicts'],
      [
        html`<tr><th scope="row">v${to}, candidate</th><td class="number">${sessions.candidate}</td><td>${badOf(candidate)}</td></tr>`,
        html`<tr><th scope="row">v${from}, its parent</th><td class="number">${sessions.parent}</td><td>${badOf(parent)}</td></tr>`,
      ],
    )}
    <ul class="evidence">
      <li>That v${to} is worse: ${meter(`Evidence that v${to} is worse`, evidence.worse, alpha)}. At the limit it is rejected.</li>
      <li>That v${to} is not worse${margin === undefined ? '' : ` by ${Math.round(100 * margin)} points`}: ${meter(`Evidence that v${to} is not worse`, evidence.notWorse, alpha)}. At the limit it is promoted.</li>
    </ul>
    ${turns === undefined ? nothing : html`<p class="quiet">Undecided so far. It ends at the latest after ${plural(turns, 'verdict')} on v${to}, or after ${plural(hours!, 'hour')}.</p>`}
  `;
}

function watchOf({ settings, watched, head }: VersionChecks): TemplateResult {
  if (settings !== null && settings.watch === undefined)
    return html`<p class="quiet">Off (<code>--auto-rollback false</code>): no version is rolled back by its verdicts.</p>`;
  if (watched.length === 0)
    return head === 0
      ? html`<p class="quiet">Nothing to watch: the base model is live. The first version is watched from its promotion on.</p>`
      : html`<p class="quiet">Nothing to watch: v${head} has had enough verdicts, or a rollback chose it. The next version is watched from its promotion on.</p>`;
  const alpha = settings?.watch?.alpha;
  const pauseAfter = settings?.watch?.pauseAfter;
  return html`
    ${table(
      'Watched versions',
      ['Version', 'Since its promotion', 'Before it', 'Evidence that it is worse'],
      watched.map(
        ({ version, since, before, after, evidence }) => html`<tr>
          <th scope="row">v${version}</th>
          <td>${badOf(after)}</td>
          <td>${badOf(before)}, from v${since} on</td>
          <td>${meter(`Evidence that v${version} is worse`, evidence, alpha)}</td>
        </tr>`,
      ),
    )}
    <p class="quiet">At the limit the version and all that was trained from it are rolled back. Verdicts on later versions count, too.${
      pauseAfter === undefined
        ? ''
        : ` After ${plural(pauseAfter, 'rollback')} within 20 batches learning pauses.`
    }</p>
  `;
}

type Decision = VersionChecks['decisions'][number];
type Data = Readonly<Record<string, unknown>> & { readonly figures?: Readonly<Record<string, number>> };

const decisionsOf = ({ decisions }: VersionChecks): Part =>
  decisions.length === 0
    ? html`<p class="quiet">None yet. Each rejection, each rollback by verdicts and each end of a canary appears here with its numbers.</p>`
    : table(
        'Past decisions',
        ['Time', 'Decision', 'Verdicts on it', 'Compared with', 'Evidence', 'Record'],
        decisions.map(decisionRow),
      );

function decisionRow({ type, time, place, data }: Decision): TemplateResult {
  const { figures = {}, from, to, reason, detail, batchId } = data as Data;
  const { turns, bad, turnsBefore, badBefore, turnsOfParent, badOfParent, alpha } = figures;
  const { evidence, evidenceOfWorse, evidenceOfNotWorse } = figures;
  const what =
    type === 'policy.rolled-back'
      ? `v${from} rolled back to v${to}`
      : type === 'policy.promoted'
        ? `v${to} promoted after its canary`
        : `candidate v${String(batchId).split('/').at(-1)} rejected (${reason})`;
  const isByVerdicts = turns !== undefined;
  const best = evidence ?? (type === 'policy.promoted' ? evidenceOfNotWorse : evidenceOfWorse);
  return html`<tr>
    <td>${timeOf(time)}</td>
    <th scope="row">${what}${detail === undefined ? nothing : html`<br /><span class="quiet">${detail}</span>`}</th>
    <td>${isByVerdicts ? badOf({ turns, bad: bad ?? 0 }) : nothing}</td>
    <td>${isByVerdicts ? badOf({ turns: turnsBefore ?? turnsOfParent ?? 0, bad: badBefore ?? badOfParent ?? 0 }) : nothing}</td>
    <td>${best === undefined ? nothing : meter(`Evidence: ${what}`, best, alpha)}</td>
    <td>${placeLink(place)}</td>
  </tr>`;
}

/** Figures of the gate, with the factor and the unit in which they are read. */
const gateFigures: readonly (readonly [name: string, label: string, show: (value: number) => string])[] = [
  ['meanKl', 'KL to parent', (value) => value.toFixed(4)],
  ['klToBase', 'KL to base', (value) => value.toFixed(4)],
  ['canaryContent', 'On topic', percent],
  ['canaryOwnContent', 'On topic, own requests', percent],
  ['canaryAbsurdAnswers', 'Absurd', percent],
  ['canarySteered', 'Wish met', percent],
  ['canaryDistinct', 'Different', percent],
  ['canaryEnded', 'Finished', percent],
];

function gateOf({ gate }: VersionChecks): Part {
  if (gate.length === 0)
    return html`<p class="quiet">No candidate yet. Before a version is served, the gate measures how far it moved and how it answers requests that it does not learn from.</p>`;
  const known = gateFigures.filter(([name]) => gate.some(({ metrics }) => metrics[name] !== undefined));
  return html`${table(
    'What the gate measured',
    ['Candidate', 'Outcome', ...known.map(([, label]) => label)],
    gate.map(
      ({ version, outcome, metrics }) => html`<tr>
        <th scope="row">v${version}</th>
        <td>${outcome}</td>
        ${known.map(([name, , show]) => html`<td class="number">${metrics[name] === undefined ? '' : show(metrics[name])}</td>`)}
      </tr>`,
    ),
  )}
  <p class="quiet">KL is in nats per token. The shares are of the candidate's answers to the gate's requests: on topic, with a token that the base finds absurd, with the wish met, different from each other, finished.</p>`;
}
