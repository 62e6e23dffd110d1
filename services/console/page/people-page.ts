import { html, nothing, type TemplateResult } from 'lit-html';
import type { Overview, People, SessionItem, SessionPage } from '../api/shapes.ts';
import { type Failure, get, request } from './client.ts';
import type { Context, Page } from './context.ts';
import {
  asFailure,
  badge,
  copyable,
  createLoader,
  empty,
  failed,
  percent,
  plural,
  table,
  timeOf,
  trimNote,
  whenLoaded,
} from './parts.ts';

/** Adapters, keys, people, sessions, exports. */
export function peoplePage(context: Context): Page {
  const people = createLoader<People>(context.draw);
  const sessions = createLoader<SessionPage>(context.draw);
  let older: readonly SessionItem[] = [];
  let next: string | null | undefined;
  /** of the last download */
  let failure: Failure | undefined;
  const readPeople = () => get<People>('/api/people');
  const readSessions = () => get<SessionPage>('/api/sessions');
  const more = async (cursor: string): Promise<void> => {
    try {
      const page = await get<SessionPage>(`/api/sessions?cursor=${encodeURIComponent(cursor)}`);
      older = [...older, ...page.sessions];
      next = page.next;
    } catch (error) {
      context.fail(error);
    }
    context.draw();
  };
  return {
    title: 'Sessions and people',
    open: () => {
      [older, next, failure] = [[], undefined, undefined];
      void people.load(readPeople);
      void sessions.load(readSessions);
    },
    changed: () => {
      people.refresh(readPeople);
      if (older.length === 0) sessions.refresh(readSessions);
    },
    view: () => html`
      ${adapters(context.overview())} ${whenLoaded(people.state(), (all) => html`${keys(context, all)} ${peopleOf(all)}`)}
      ${trimNote(context.overview())} ${whenLoaded(sessions.state(), (page) => sessionsOf(page))}
    `,
  };

  function sessionsOf(page: SessionPage): TemplateResult {
    const all = [...page.sessions, ...older];
    const cursor = next === undefined ? page.next : next;
    return html`<section><h2>Sessions</h2>
      ${
        all.length === 0
          ? empty('No sessions yet.', 'A session appears when a conversation has its first turn.')
          : html`${table('Sessions', ['Session', 'Person', 'Turns', 'Trained', 'Rewards', 'State', 'Last'], all.map(row))}
            ${cursor === null ? nothing : html`<button type="button" @click=${() => void more(cursor)}>Older sessions</button>`}`
      }
      <h3>Exports and deletion</h3>
      <p>Sessions with rewards that have ended can be exported: tokens, logprobs, versions and rewards.
        <button type="button" @click=${() => void download('')}>Download all as JSONL</button></p>
      ${failure === undefined ? nothing : failed(failure)}
      <p>To delete an answer, open its turn in <a href="#/turns">Turns</a>. What trained stays in the weights until you <a href="#/versions">roll back</a>, or train again without it: <code>npx clawloop policy retrain${context.overview()?.folderFlag ?? ''}</code>.
        To erase all words of a session, stop ClawLoop and run <code>npx clawloop forget SESSION${context.overview()?.folderFlag ?? ''}</code>.</p>
    </section>`;
  }

  function row(item: SessionItem): TemplateResult {
    return html`<tr>
      <th scope="row"><a href=${`#/turns?session=${encodeURIComponent(item.session)}`}>${item.session}</a>${item.task === null ? nothing : html`<br /><span class="quiet">${item.task}</span>`}</th>
      <td>${item.person}</td>
      <td class="number">${item.turns}</td>
      <td class="number">${item.trained}</td>
      <td>${item.meanReward === null ? nothing : html`${item.rewards}, mean ${item.meanReward.toFixed(2)}`}
        ${item.isRewarded && item.isClosed ? html`<button type="button" @click=${() => void download(item.session)} aria-label=${`JSONL of session ${item.session}`}>JSONL</button>` : nothing}</td>
      <td>${item.isClosed ? badge('plain', 'ended') : badge('open', 'open')}</td>
      <td>${timeOf(item.last)}</td>
    </tr>`;
  }

  /** By fetch, since a plain link would not carry the key. */
  async function download(session: string): Promise<void> {
    failure = undefined;
    try {
      const answer = await request(`/api/export?session=${encodeURIComponent(session)}`);
      const blob = await answer.blob().catch(() => {
        throw brokenOff;
      });
      if (blob.size === 0) return context.say('There is no ended session with rewards to export.');
      const link = document.createElement('a');
      link.href = URL.createObjectURL(blob);
      link.download = `${session === '' ? 'sessions' : session}.jsonl`;
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      failure = asFailure(error);
      context.draw();
    }
  }
}

const brokenOff: Failure = {
  status: 500,
  code: 'broken_off',
  message: 'The download broke off, so nothing was saved. The log of the console may say why.',
};

const adapters = (overview: Overview | undefined): TemplateResult =>
  overview === undefined
    ? html``
    : html`<section><h2>Adapters</h2>
  ${table(
    'Adapters',
    ['Adapter', 'Live version', 'Waiting samples', 'Learning'],
    overview.adapters.map(
      ({ name, head, waiting, isPaused, training }) => html`<tr>
    <th scope="row">${name}</th><td>v${head}</td><td class="number">${waiting}</td>
    <td>${isPaused ? badge('plain', 'paused') : training === null ? badge('good', 'on') : badge('open', `v${training} is being trained`)}</td></tr>`,
    ),
  )}
</section>`;

const keys = (
  context: Context,
  { keys: all }: People,
  folder = context.overview()?.folderFlag ?? '',
): TemplateResult => html`<section><h2>Access keys</h2>
  ${
    all.length === 0
      ? html`<p>There are no keys, so everybody on this machine has access. After you create the first key, every request needs a key.</p>`
      : table(
          'Access keys',
          ['Name', 'Id', 'May use', 'Role', 'Limits', 'Created', 'Expires'],
          all.map(
            (key) => html`<tr>
        <th scope="row">${key.name}</th><td><code>${key.id}</code></td><td>${key.adapter ?? 'every adapter'}</td>
        <td>${key.isOperator ? badge('good', 'operator') : 'chats'}</td><td>${key.limits === '' ? 'none' : key.limits}</td>
        <td>${timeOf(key.createdAt)}</td><td>${key.expiresAt === null ? 'never' : timeOf(key.expiresAt)}</td></tr>`,
          ),
        )
  }
  <details><summary>Create or remove a key</summary>
    <p>The terminal shows each key once. This page never shows a key.</p>
    ${copyable(context, 'Create a key for a person', `npx clawloop keys create NAME${folder}`)}
    ${copyable(context, 'Create a key for an operator of this console', `npx clawloop keys create NAME --operator${folder}`)}
    ${copyable(context, 'Remove a key', `npx clawloop keys remove ID${folder}`)}
  </details>
</section>`;

const peopleOf = ({ people, keys: all }: People): TemplateResult => html`<section><h2>People</h2>
  ${
    people.length === 0
      ? empty('Nobody has chatted yet.', html`<a href="#/">Try it</a> yourself.`)
      : table(
          'People',
          ['Key', 'Turns', 'Sessions', 'Good verdicts', 'Last turn'],
          people.map(
            ({ key, turns, sessions, good, bad, last }) => html`<tr>
        <th scope="row"><a href=${`#/turns?person=${encodeURIComponent(key)}`}>${all.find(({ id }) => id === key)?.name ?? (key === 'local' ? 'without a key' : key)}</a></th>
        <td class="number">${turns}</td><td class="number">${sessions}</td>
        <td class="number">${good + bad === 0 ? 'none yet' : `${percent(good / (good + bad))} of ${plural(good + bad, 'verdict')}`}</td><td>${timeOf(last)}</td></tr>`,
          ),
        )
  }
</section>`;
