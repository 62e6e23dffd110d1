import { html, nothing, render, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import type { Change } from '../api/shapes.ts';
import { type Failure, followLive, isFailure, storedKey, storeKey } from './client.ts';
import { connectPage } from './connect-page.ts';
import type { Context, Page, Question } from './context.ts';
import { flowPage } from './flow-page.ts';
import { learningPage } from './learning-page.ts';
import { asFailure, type Part, timeOf } from './parts.ts';
import { peoplePage } from './people-page.ts';
import { recordPage } from './record-page.ts';
import { tryPage } from './try-page.ts';
import { turnPage } from './turn-page.ts';
import { turnsPage } from './turns-page.ts';
import { versionsPage } from './versions-page.ts';

/** ms that a message stays */
const SAID_MS = 5_000;

let overview: Change | undefined;
let connection: 'connecting' | 'live' | 'lost' = 'connecting';
let refusal: Failure | undefined;
let adapter = '';
let said = '';
let saidTimer: ReturnType<typeof setTimeout> | undefined;
let question: (Question & { isBusy?: boolean; failure?: Failure }) | undefined;
let isDrawing = false;
let key = storedKey();

const draw = (): void => {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    render(shell(), document.querySelector<HTMLElement>('#app')!);
  });
};

const say = (text: string): void => {
  said = text;
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => {
    said = '';
    draw();
  }, SAID_MS);
  draw();
};

const context: Context = {
  overview: () => overview,
  adapter: () => adapter,
  draw,
  say,
  fail: (error) => say(asFailure(error).message),
  ask: (asked) => {
    question = asked;
    draw();
    setTimeout(() => document.querySelector<HTMLDialogElement>('dialog')?.showModal(), 50);
  },
};

/** By the first word of the address; those with a name are in the menu. */
const pages: Readonly<Record<string, { readonly page: Page; readonly menu?: string }>> = {
  '': { page: tryPage(context), menu: 'Try it' },
  learning: { page: learningPage(context), menu: 'Is it learning?' },
  turns: { page: turnsPage(context), menu: 'Turns' },
  turn: { page: turnPage(context) },
  record: { page: recordPage(context) },
  versions: { page: versionsPage(context), menu: 'Versions' },
  flow: { page: flowPage(context), menu: 'Flow' },
  people: { page: peoplePage(context), menu: 'People' },
  connect: { page: connectPage(context), menu: 'Connect' },
};

/** `#/turn/ID?x=y` has the words turn and ID, and a query. */
function address(): {
  readonly name: string;
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
} {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...rest] = path.split('/').map((word) => {
    try {
      return decodeURIComponent(word);
    } catch {
      return word;
    }
  });
  return { name: Object.hasOwn(pages, name) ? name : '', rest, query: new URLSearchParams(query) };
}

const current = () => pages[address().name]!.page;

function openPage(isFirst: boolean): void {
  const { rest, query } = address();
  document.title = `${current().title} · ClawLoop`;
  if (adapter !== '') current().open(rest, query);
  draw();
  if (isFirst) return;
  scrollTo(0, 0);
  setTimeout(() => document.querySelector<HTMLElement>('h1')?.focus(), 50);
}

/** Everything that changed while nobody saw the page: it reads once when it is seen again, and costs nothing before. */
let unseen: Change | undefined;

function take(change: Change): void {
  const before = headOf(overview);
  overview = change;
  const head = headOf(change);
  if (before !== undefined && head !== before) say(`v${head} is live now.`);
  const isFirst = adapter === '';
  if (isFirst) adapter = change.adapters[0]?.name ?? 'default';
  if (isFirst) openPage(true);
  else current().changed(change);
  draw();
}

const { again } = followLive({
  onChange: (change) => {
    if (!document.hidden) return take(change);
    const turns = new Set([...(unseen?.changed.turns ?? []), ...change.changed.turns]);
    const versions = change.changed.versions || (unseen?.changed.versions ?? false);
    unseen = { ...change, changed: { turns: [...turns], versions } };
  },
  onState: (state, failure) => {
    refusal = failure?.status === 401 || failure?.status === 403 ? failure : undefined;
    // a page without a key has lost nothing
    connection = refusal === undefined ? state : 'connecting';
    draw();
  },
});

function headOf(of: Change | undefined): number | undefined {
  return of?.adapters.find((one) => one.name === adapter)?.head;
}

function shell(): TemplateResult {
  const { name } = address();
  return html`
    <a class="skip" href="#main" @click=${(event: Event) => {
      event.preventDefault();
      document.querySelector<HTMLElement>('h1')?.focus();
    }}>Skip to the content</a>
    <header>
      <span class="brand">ClawLoop</span>
      <nav aria-label="Pages"><ul>
        ${Object.entries(pages).map(([path, { menu }]) =>
          menu === undefined
            ? nothing
            : html`<li><a href=${`#/${path}`} aria-current=${isCurrent(path, name) ? 'page' : 'false'}>${menu}</a></li>`,
        )}
      </ul></nav>
      ${adapterChoice()} ${stateOfConnection()}
    </header>
    <main id="main">
      <h1 tabindex="-1">${refusal === undefined ? current().title : 'A key is needed'}</h1>
      ${refusal === undefined ? html`${logAway()} ${stopped()} ${progress()} ${cautions()} ${current().view()}` : signIn(refusal)}
    </main>
    <div class="said ${said === '' ? '' : 'shown'}" role="status" aria-live="polite">${said}</div>
    ${dialog()}
  `;
}

const isCurrent = (path: string, name: string): boolean =>
  path === name || (path === 'turns' && (name === 'turn' || name === 'record'));

function adapterChoice(): Part {
  const names = overview?.adapters.map((one) => one.name) ?? [];
  if (names.length < 2) return nothing;
  return html`<label class="adapter">Adapter
    <select .value=${live(adapter)} @change=${(event: Event) => {
      adapter = (event.target as HTMLSelectElement).value;
      openPage(true);
    }}>${names.map((name) => html`<option value=${name} ?selected=${name === adapter}>${name}</option>`)}</select></label>`;
}

function stateOfConnection(): TemplateResult {
  const mine = overview?.adapters.find((one) => one.name === adapter);
  const text =
    connection === 'live' ? 'live' : connection === 'lost' ? 'connection lost, trying again' : 'connecting';
  return html`<p class="state">
    ${mine === undefined ? nothing : html`<a href="#/versions" class="now">v${mine.head}${mine.training === null ? '' : ' · training'}${mine.isPaused ? ' · paused' : ''}</a>`}
    <span class="dot ${connection}" aria-hidden="true"></span><span class=${connection === 'lost' ? '' : 'hidden'} role="status">${text}</span>
  </p>`;
}

const progress = (): Part =>
  overview === undefined || overview.progress === 1
    ? nothing
    : html`<p class="caution">Reading the log: <progress max="1" .value=${overview.progress} aria-label="Reading the log"></progress> ${Math.floor(100 * overview.progress)} %</p>`;

const logAway = (): Part =>
  overview === undefined || overview.logAway === null
    ? nothing
    : html`<p class="caution" role="status">${overview.logAway.place} has not answered since ${timeOf(overview.logAway.since)}. Chats are still answered, and recorded later. This page shows what it read before; it goes on by itself once the log answers.</p>`;

const stopped = (): Part =>
  overview === undefined || overview.stopped.length === 0
    ? nothing
    : html`<div class="caution" role="status" data-test="stopped">
        A newer version of ClawLoop writes the log, and this console cannot read all of it. It shows what it read before, and what arrives in all other partitions. Update the console: it then goes on.
        <ul>${overview.stopped.map(
          ({ topic, at, type, version, known }) =>
            html`<li>Partition ${at.partition} of <code>${topic}</code> stopped at offset ${at.offset}: <code>${type}</code> has version ${version}, and this console knows ${known}.</li>`,
        )}</ul>
      </div>`;

const cautions = (): Part =>
  overview === undefined || overview.cautions.length === 0
    ? nothing
    : html`<ul class="cautions" aria-label="Warnings">${overview.cautions.map(({ what, advice }) => html`<li class="caution">${what}${advice === undefined ? nothing : html`<br /><span class="quiet">${advice}</span>`}</li>`)}</ul>`;

function signIn({ message, status }: Failure): TemplateResult {
  return html`<form class="sign-in" @submit=${(event: Event) => {
    event.preventDefault();
    storeKey(key);
    again();
  }}>
    <p role="alert">${status === 401 && storedKey() !== '' ? 'This key is wrong or has expired. ' : ''}${message}</p>
    <label>Key
      <input type="password" autocomplete="off" spellcheck="false" .value=${live(key)} @input=${(
        event: Event,
      ) => {
        key = (event.target as HTMLInputElement).value.trim();
      }} /></label>
    <button type="submit" class="main">Open</button>
    <p class="quiet">The key stays in this tab, and is forgotten when you close it. <code>npx clawloop keys create NAME --operator</code> makes one.</p>
  </form>`;
}

function dialog(): Part {
  if (question === undefined) return nothing;
  const { title, text, yes, run, isBusy, failure } = question;
  const close = () => {
    document.querySelector('dialog')?.close();
    question = undefined;
    draw();
  };
  const accept = async () => {
    question = { title, text, yes, run, isBusy: true };
    draw();
    try {
      const outcome = await run();
      close();
      say(outcome);
    } catch (error) {
      question = { title, text, yes, run, failure: isFailure(error) ? error : asFailure(error) };
      draw();
    }
  };
  return html`<dialog aria-labelledby="question" @cancel=${close}>
    <h2 id="question">${title}</h2>
    <p>${text}</p>
    ${failure === undefined ? nothing : html`<p class="failure" role="alert">${failure.message}</p>`}
    <p class="actions">
      <button type="button" class="main" ?disabled=${isBusy === true} @click=${() => void accept()}>${isBusy ? 'Working …' : yes}</button>
      <button type="button" @click=${close}>Cancel</button>
    </p>
  </dialog>`;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden || unseen === undefined) return;
  const change = unseen;
  unseen = undefined;
  take(change);
});
addEventListener('hashchange', () => openPage(false));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
openPage(true);
