import { html, nothing, type TemplateResult } from 'lit-html';
import type { Flow } from '../api/shapes.ts';
import { get, post } from './client.ts';
import type { Context, Page } from './context.ts';
import {
  badge,
  bytes,
  createLoader,
  type Part,
  placeLink,
  plural,
  table,
  timeOf,
  whenLoaded,
} from './parts.ts';

/** ms between two looks at services and disk while the page is open */
const LOOK_MS = 3_000;

/** Is everything running? Topics, folds, services, queues, disk, audit. */
export function flowPage(context: Context): Page {
  const loader = createLoader<Flow>(context.draw);
  const read = () => get<Flow>('/api/flow');
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    title: 'Flow',
    open: () => {
      void loader.load(read);
      clearInterval(timer);
      timer = setInterval(() => {
        if (location.hash.startsWith('#/flow')) loader.refresh(read);
        else clearInterval(timer);
      }, LOOK_MS);
    },
    changed: () => {},
    view: () =>
      html`${whenLoaded(loader.state(), (flow) => html`${services(flow)} ${foldsOf(flow.log)} ${topicsOf(flow.log)} ${letters(flow)} ${disk(flow)} ${audit(flow)}`)}`,
  };

  function letters({ letters: { count, latest } }: Flow): TemplateResult {
    const redrive = () =>
      context.ask({
        title: 'Put dead letters back?',
        text: 'Each record that can be read now goes back into its topic, once. Records that still cannot be read stay here.',
        yes: 'Put back',
        run: async () => {
          const { put_back: done, letters: all } = await post<{ put_back: number; letters: number }>(
            '/serving/v1/dead-letters/redrive',
          );
          return `${done} of ${plural(all, 'letter')} put back.`;
        },
      });
    return html`<section><h2>Dead letters</h2>
      ${
        count === 0
          ? html`<p class="quiet">None: every record could be read.</p>`
          : html`<p>${plural(count, 'record')} could not be read. <button type="button" @click=${redrive}>Put back …</button></p>
          ${table(
            'Dead letters',
            ['Record', 'Fold', 'Error', 'Letter'],
            latest.map(
              (letter) =>
                html`<tr><th scope="row">${letter.of}</th><td>${letter.group}</td><td class="wrap">${letter.error}</td><td>${placeLink(letter.place)}</td></tr>`,
            ),
          )}`
      }
    </section>`;
  }

  function audit({ audit: last }: Flow): TemplateResult {
    const start = async () => {
      try {
        await post('/api/audit');
        context.say('The audit is running.');
        loader.refresh(read);
      } catch (error) {
        context.fail(error);
      }
    };
    return html`<section><h2>Audit</h2>
      <p>It checks from the log that nothing is lost or counted twice.
        <button type="button" ?disabled=${last?.outcome === 'running'} @click=${() => void start()}>${last?.outcome === 'running' ? 'Running …' : 'Run an audit'}</button></p>
      ${last === null ? html`<p class="quiet">None since the console started.</p>` : auditResult(last)}
    </section>`;
  }
}

type Audit = NonNullable<Flow['audit']>;

const auditResult = ({
  outcome,
  endedAt,
  startedAt,
  violations,
  overdue,
  open,
  counts,
  error,
}: Audit): TemplateResult => html`
  <p>${outcome === 'balances' ? badge('good', 'balances') : outcome === 'running' ? badge('open', 'running') : badge('bad', outcome)} ${timeOf(endedAt ?? startedAt)}</p>
  ${error === null ? nothing : html`<p class="why">${error}</p>`}
  ${[...violations, ...overdue].length === 0 ? nothing : html`<ul>${violations.map((line) => html`<li>${line}</li>`)}${overdue.map((line) => html`<li>overdue: ${line}</li>`)}</ul>`}
  ${
    Object.keys(counts).length === 0
      ? nothing
      : html`<details><summary>What it counted</summary>${table(
          'Counts of the audit',
          ['What', 'Count'],
          [
            ...Object.entries(counts),
            ...Object.entries(open).map(([name, count]) => [`open: ${name}`, count] as const),
          ].map(
            ([name, count]) =>
              html`<tr><th scope="row">${name}</th><td class="number">${count.toLocaleString('en')}</td></tr>`,
          ),
        )}</details>`
  }
`;

const services = ({ services: all }: Flow): TemplateResult => html`<section><h2>Services</h2>
  ${table(
    'Services',
    ['Service', 'State', 'Owed work', 'Queue'],
    all.map(
      ({ name, state, detail, obligations, queue, board }) => html`<tr>
        <th scope="row">${name}</th>
        <td>${state === 'ready' ? badge('good', 'ready') : state === 'unknown' ? badge('plain', 'unknown') : badge('bad', state)} ${detail}</td>
        <td>${countsOf(obligations)}</td>
        <td>${queue === null ? nothing : countsOf(queue.counts)} ${board === null ? nothing : html`<a href=${board} rel="noreferrer">Bull Board</a>`}</td>
      </tr>`,
    ),
  )}
</section>`;

const countsOf = (counts: Readonly<Record<string, number>>): Part => {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0
    ? html`<span class="quiet">none</span>`
    : some.map(([name, count]) => `${name}: ${count}`).join(', ');
};

const foldMeaning: Readonly<Record<string, string>> = {
  attribute: 'answers to turns',
  judge: 'turns to verdicts',
  assemble: 'verdicts to samples',
  submit: 'samples to batches',
  trainer: 'batches to versions',
};

const noLog = html`<p class="quiet">Unknown while the log does not answer.</p>`;

const foldsOf = (log: Flow['log']): TemplateResult => html`<section><h2>Folds</h2>
  ${
    log === null
      ? noLog
      : table(
          'Folds',
          ['Fold', 'Makes', 'Reads', 'Behind', 'Problem'],
          log.folds.map(
            ({ group, reads, lag, stopped }) => html`<tr>
        <th scope="row">${group}</th>
        <td>${foldMeaning[group] ?? ''}</td>
        <td>${reads}</td>
        <td class="number">${plural(lag, 'record')}</td>
        <td>${stopped === null ? nothing : badge('bad', stopped)}</td>
      </tr>`,
          ),
        )
  }
</section>`;

const topicsOf = (log: Flow['log']): TemplateResult => html`<section><h2>Topics</h2>
  ${
    log === null
      ? noLog
      : table(
          'Topics',
          ['Topic', 'Records', 'Latest of each partition'],
          log.topics.map(
            ({ topic, records, ends }) => html`<tr>
        <th scope="row">${topic}</th>
        <td class="number">${records.toLocaleString('en')}</td>
        <td>${ends.map((end, partition) => (end === 0 ? nothing : html`${placeLink({ topic: topic as 'turns', partition, offset: end - 1 })} `))}</td>
      </tr>`,
          ),
        )
  }
</section>`;

const disk = ({
  disk: { log, checkpoints, serviceLogs, adapters, outbox, answers, other, free, perDay, daysLeft },
}: Flow): TemplateResult => html`<section><h2>Disk</h2>
  <dl class="figures">
    <div><dt>Log</dt><dd>${bytes(log)}</dd></div>
    <div><dt>Checkpoints</dt><dd>${bytes(checkpoints)}</dd></div>
    <div><dt>Logs of the services</dt><dd>${bytes(serviceLogs)}</dd></div>
    <div><dt>Other</dt><dd>${bytes(adapters + outbox + answers + other)}</dd></div>
    <div><dt>Free</dt><dd>${free === null ? 'unknown' : bytes(free)}</dd></div>
  </dl>
  <p>${
    perDay === null
      ? 'The log is younger than an hour: too young for a forecast.'
      : `About ${bytes(perDay)} a day so far. ${daysLeft === null ? '' : daysLeft > 3650 ? 'The disk lasts for more than ten years.' : `At this pace the disk is full in ${plural(Math.floor(daysLeft), 'day')}.`}`
  }</p>
</section>`;
