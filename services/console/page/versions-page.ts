import { html, nothing, type TemplateResult } from 'lit-html';
import type { Versions } from '../api/shapes.ts';
import { get, post } from './client.ts';
import { createComparison } from './comparison.ts';
import type { Context, Page } from './context.ts';
import {
  badge,
  createLoader,
  empty,
  type Part,
  percent,
  placeLink,
  plural,
  table,
  timeOf,
  turnLink,
  whenLoaded,
} from './parts.ts';

type Version = Versions['versions'][number];
type Lesson = {
  readonly id: string;
  readonly asked: string;
  readonly reaction: string;
  readonly score: number | null;
  readonly hints: readonly string[];
};

/** Versions that are shown at once. */
const VERSIONS = 30;
/** Decisions that are shown at once. */
const DECISIONS = 50;

/** Versions: what was decided, what each learned from, its figures, and what an operator can do. */
export function versionsPage(context: Context): Page {
  const loader = createLoader<Versions>(context.draw);
  const comparison = createComparison(context);
  const lessons = new Map<number, ReturnType<typeof createLoader<{ readonly turns: readonly Lesson[] }>>>();
  let shown = DECISIONS;
  const adapter = () => encodeURIComponent(context.adapter());
  let latest = VERSIONS;
  const read = () => get<Versions>(`/api/versions?adapter=${adapter()}&latest=${latest}`);
  const lessonsOf = (version: number) => {
    const known = lessons.get(version) ?? createLoader<{ readonly turns: readonly Lesson[] }>(context.draw);
    if (!lessons.has(version)) {
      lessons.set(version, known);
      void known.load(() => get(`/api/versions/${version}/turns?adapter=${adapter()}`));
    }
    return known;
  };
  const act = (path: string, body: object) => post(path, { adapter: context.adapter(), ...body });

  return {
    title: 'Versions',
    open: () => {
      lessons.clear();
      void loader.load(read);
      comparison.open();
    },
    changed: ({ changed }) => {
      if (changed.versions) loader.refresh(read);
    },
    view: () =>
      html`${whenLoaded(
        loader.state(),
        (versions) => html`
      ${state(versions)} ${buttons(versions)}
      ${
        versions.versions.length === 0
          ? empty(
              'No version has been trained yet.',
              html`The first step starts when enough answers have a verdict. <a href="#/">Chat and react</a>.`,
            )
          : html`<section><h2>All versions</h2><ol class="versions" aria-label="Versions, newest first">${[...versions.versions].reverse().map((version) => card(version, versions))}</ol>${olderVersions(versions)}</section>`
      }
      ${comparison.view(versions.head)}
      ${timeline(versions)}
    `,
      )}`,
  };

  function buttons({ isPaused, training, head }: Versions): TemplateResult {
    const pauseOrResume = isPaused ? 'resume' : 'pause';
    const ask = (title: string, text: string, yes: string, path: string, done: string) => () =>
      context.ask({
        title,
        text,
        yes,
        run: async () => {
          await act(path, {});
          return done;
        },
      });
    return html`<p class="actions">
      <button type="button" @click=${
        isPaused
          ? ask(
              'Resume learning?',
              'Batches are formed again from the samples there are.',
              'Resume',
              '/serving/v1/learning/resume',
              'Learning is resumed.',
            )
          : ask(
              'Pause learning?',
              'No batch is formed from now on. Chats are still answered and judged, and an open batch still trains.',
              'Pause',
              '/serving/v1/learning/pause',
              'Learning is paused.',
            )
      }>
        ${pauseOrResume === 'pause' ? 'Pause learning …' : 'Resume learning …'}
      </button>
      <button type="button" ?disabled=${training !== null} @click=${ask('Train now?', 'The next batch takes the samples there are, at least one. A small batch learns less surely.', 'Train now', '/serving/v1/learning/now', 'The next batch takes the samples there are.')}>Train now …</button>
      ${head === 0 ? nothing : rollback(0, head)}
    </p>`;
  }

  function rollback(version: number, head: number): TemplateResult {
    const what = version < head ? `Roll back to v${version}` : `Make v${version} live`;
    const open = () =>
      context.ask({
        title: `${what}?`,
        text: `v${version} answers from now on. v${head} stays in the log, and you can return to it.`,
        yes: what,
        run: async () => {
          await act('/serving/v1/policy/rollback', { version });
          return `v${version} is live now.`;
        },
      });
    return html`<button type="button" @click=${open}>${what} …</button>`;
  }

  function olderVersions({ total, versions }: Versions): Part {
    if (total <= versions.length) return nothing;
    const more = () => {
      latest += VERSIONS;
      loader.refresh(read);
    };
    return html`<button type="button" @click=${more}>Older versions</button>`;
  }

  function card(version: Version, { head, wasServed, verdicts }: Versions): TemplateResult {
    const { version: n } = version;
    const verdict = verdicts.find((point) => point.version === n);
    return html`<li class="version">
      <div class="step-head">
        <h3>v${n}</h3>
        <span class="marks">${roleOf(version)} ${stateOf(version)}</span>
      </div>
      <p class="quiet">${timeOf(version.time)} · from v${version.parent} · learned from ${plural(version.turns, 'turn')}${version.again === undefined ? '' : ` of v${version.again.split('/').at(-1)}, again`}${version.milliseconds === 0 ? '' : ` · ${(version.milliseconds / 1000).toFixed(1)} s`}</p>
      ${version.detail === '' ? nothing : html`<p class="why">${version.detail}</p>`}
      ${verdict === undefined || verdict.total === 0 ? nothing : html`<p>Its answers: ${percent(verdict.share)} good of ${plural(verdict.total, 'verdict')} (${percent(verdict.low)} to ${percent(verdict.high)}).</p>`}
      ${figuresOf(version)}
      <details @toggle=${(event: Event) => {
        if (!(event.target as HTMLDetailsElement).open) return;
        lessonsOf(n);
        context.draw();
      }}>
        <summary>What it learned from</summary>
        ${lessons.has(n) ? whenLoaded(lessons.get(n)!.state(), ({ turns }) => lessonList(turns)) : nothing}
      </details>
      ${Object.keys(version.metrics).length === 0 ? nothing : html`<details><summary>All figures of its step</summary>${metrics(version)}</details>`}
      ${wasServed.includes(n) && n !== head ? html`<p class="actions">${rollback(n, head)}</p>` : nothing}
    </li>`;
  }

  function state({ head, served, isPaused, training, wasServed }: Versions): TemplateResult {
    return html`<p class="lead">The live version is <strong>v${head}</strong>${served === null || served === head ? '' : html`; v${served} still answers while it loads`}.
      ${training === null ? nothing : badge('open', `v${training} is being trained`)} ${isPaused ? badge('plain', 'learning is paused') : nothing}</p>
      ${head === 0 || !wasServed.includes(0) ? nothing : html`<p class="quiet">v0 is the base model, before any training.</p>`}`;
  }

  function timeline({ decisions }: Versions): TemplateResult {
    if (decisions.length === 0) return html``;
    return html`<section><h2>Timeline</h2>
      <ol class="timeline">${decisions.slice(0, shown).map(({ type, time, place, data }) => html`<li>${timeOf(time)} <span>${sentence(type, data)}</span> ${placeLink(place)}</li>`)}</ol>
      ${
        decisions.length <= shown
          ? nothing
          : html`<button type="button" @click=${() => {
              shown += DECISIONS;
              context.draw();
            }}>Older</button>`
      }
    </section>`;
  }
}

const roleOf = ({ role }: Version): Part =>
  role === 'head' ? badge('good', 'live') : role === 'lineage' ? badge('plain', 'ancestor') : nothing;

const stateOf = ({ state }: Version): Part =>
  state === 'promoted'
    ? badge('good', 'promoted')
    : state === 'training' || state === 'trained'
      ? badge('open', state)
      : badge('bad', state);

/** The figures that matter most, with words that explain them. */
const shownFigures: readonly (readonly [string, string, number])[] = [
  ['loss', 'Loss', 3],
  ['meanKl', 'KL to parent', 4],
  ['klToBase', 'KL to base', 4],
  ['canaryEntropy', 'Entropy', 3],
  ['canaryLength', 'Length, tokens', 0],
  ['canaryDistinct', 'Distinct answers', 2],
  ['gradientNorm', 'Gradient norm', 3],
  ['verdict', 'Mean verdict', 2],
];

const figuresOf = ({ metrics }: Version): Part => {
  const known = shownFigures.filter(([name]) => metrics[name] !== undefined);
  if (known.length === 0) return nothing;
  return html`<dl class="figures small">${known.map(([name, label, digits]) => html`<div><dt>${label}</dt><dd>${metrics[name]!.toFixed(digits)}</dd></div>`)}</dl>`;
};

const metrics = ({ metrics: all, digest, batchId, fingerprint }: Version): TemplateResult => html`
  ${table(
    'All figures',
    ['Figure', 'Value'],
    Object.entries(all).map(
      ([name, value]) =>
        html`<tr><th scope="row">${name}</th><td class="number">${Number(value.toPrecision(6))}</td></tr>`,
    ),
  )}
  <p class="quiet">Batch ${batchId} · ${fingerprint}${digest === '' ? '' : html` · digest <code>${digest.slice(0, 16)}</code>`}</p>
`;

const lessonList = (turns: readonly Lesson[]): TemplateResult =>
  turns.length === 0
    ? html`<p class="quiet">Its turns are no longer known.</p>`
    : html`<ul class="lessons">${turns.map(
        ({ id, asked, reaction, score, hints }) => html`<li>
        ${score === null ? nothing : score > 0 ? badge('good', 'good') : score < 0 ? badge('bad', 'bad') : badge('plain', 'neither')}
        ${turnLink(id, asked === '' ? id : asked)}${reaction === '' ? nothing : html` <span class="quiet">then</span> ${reaction}`}
        ${hints.length === 0 ? nothing : html`<span class="quiet">hint: ${hints.join(' ')}</span>`}
      </li>`,
      )}</ul>`;

type Data = Readonly<Record<string, unknown>>;
const sentences: Readonly<Record<string, (data: Data) => string>> = {
  'batch.submitted': ({ n, parent, again }) =>
    `A batch for v${n} starts from v${parent}${again === undefined ? '' : `, with samples of ${again}`}.`,
  'batch.returned': ({ batchId, without }) =>
    `${batchId} is to train again${without === 0 ? '' : `, without ${without} of its samples`}.`,
  'batch.requested': ({ reason }) =>
    reason === 'operator'
      ? 'An operator asked for a batch.'
      : 'Samples waited long enough for a smaller batch.',
  'policy.trained': ({ version, milliseconds }) =>
    `v${version} is trained, in ${(Number(milliseconds) / 1000).toFixed(1)} s.`,
  'policy.promoted': ({ to, from }) => `v${to} replaces v${from}.`,
  'policy.rejected': ({ reason, detail }) => `A candidate is rejected (${reason}): ${detail}`,
  'policy.update-failed': ({ reason, detail }) => `A step failed (${reason}): ${detail}`,
  'policy.rolled-back': ({ from, to, reason }) =>
    `Rolled back from v${from} to v${to}${reason === undefined ? '' : `: ${reason}`}.`,
  'policy.loaded': ({ version, replica }) => `Serving answers with v${version} (${replica}).`,
  'learning.paused': ({ reason }) => `Learning is paused${reason === undefined ? '' : `: ${reason}`}.`,
  'learning.resumed': () => 'Learning is resumed.',
};

/** Types that this page does not know are shown with their fields. */
const sentence = (type: string, data: Data): string =>
  sentences[type]?.(data) ??
  `${type}: ${Object.entries(data)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')}`;
