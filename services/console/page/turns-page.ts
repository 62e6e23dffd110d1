import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { repeat } from 'lit-html/directives/repeat.js';
import type { TurnFacets, TurnItem, TurnPage } from '../api/shapes.ts';
import { get } from './client.ts';
import type { Context, Page } from './context.ts';
import {
  asFailure,
  badge,
  createLoader,
  empty,
  failed,
  outcomeBadge,
  timeOf,
  trimNote,
  turnLink,
  verdictBadge,
} from './parts.ts';

const PAGE = 50;
/** Turns on the page at the same time; further ones replace the newest. */
const MOST = 1_000;
const filters = ['outcome', 'verdict', 'reason', 'session', 'person', 'version', 'words'] as const;
type FilterName = (typeof filters)[number];
/** ms after the last key until the search starts */
const TYPING_MS = 250;

/** All turns, newest first, in pages that load while one scrolls. */
export function turnsPage(context: Context): Page {
  const facets = createLoader<TurnFacets>(context.draw);
  let filter: Partial<Record<FilterName, string>> = {};
  let turns: readonly TurnItem[] = [];
  let next: string | null = null;
  let state: 'loading' | 'idle' | ReturnType<typeof asFailure> = 'loading';
  /** Older turns replaced the newest. */
  let isWindow = false;
  let asked = 0;
  let isBusy = false;
  let isWanted = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const query = (cursor: string | null, limit: number): string => {
    const wanted = new URLSearchParams({ adapter: context.adapter(), limit: String(limit), ...filter });
    if (cursor !== null) wanted.set('cursor', cursor);
    return `/api/turns?${wanted}`;
  };
  const first = async (limit: number): Promise<void> => {
    const mine = ++asked;
    isBusy = true;
    try {
      const page = await get<TurnPage>(query(null, limit));
      if (mine !== asked) return;
      [turns, next, state, isWindow] = [page.turns, page.next, 'idle', false];
    } catch (error) {
      if (mine === asked) state = asFailure(error);
    }
    isBusy = false;
    context.draw();
    if (!isWanted) return;
    isWanted = false;
    refresh();
  };
  const more = async (): Promise<void> => {
    if (next === null || state !== 'idle') return;
    const mine = ++asked;
    state = 'loading';
    context.draw();
    try {
      const page = await get<TurnPage>(query(next, PAGE));
      if (mine !== asked) return;
      const all = [...turns, ...page.turns];
      isWindow ||= all.length > MOST;
      [turns, next, state] = [all.slice(-MOST), page.next, 'idle'];
    } catch (error) {
      if (mine === asked) state = asFailure(error);
    }
    context.draw();
  };
  const readFacets = () =>
    get<TurnFacets>(`/api/turns/facets?adapter=${encodeURIComponent(context.adapter())}`);
  /** A list that somebody scrolls stays as it is. */
  const refresh = (): void => {
    if (isWindow || turns.length > 4 * PAGE) return;
    if (isBusy) isWanted = true;
    else void first(Math.max(PAGE, turns.length));
  };
  const show = (): void => {
    [turns, next, state] = [[], null, 'loading'];
    context.draw();
    void first(PAGE);
  };
  const choose = (name: FilterName, value: string): void => {
    filter = { ...filter, [name]: value };
    if (value === '') delete filter[name];
    const address = new URLSearchParams(filter).toString();
    history.replaceState(null, '', `#/turns${address === '' ? '' : `?${address}`}`);
    show();
  };
  const observer = new IntersectionObserver(
    (entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) void more();
    },
    { rootMargin: '600px' },
  );

  return {
    title: 'Turns',
    open: (_rest, query) => {
      filter = Object.fromEntries(
        filters.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])),
      );
      void facets.load(readFacets);
      show();
    },
    changed: () => {
      facets.refresh(readFacets);
      refresh();
    },
    view: () => {
      setTimeout(() => {
        observer.disconnect();
        const end = document.querySelector('#more');
        if (end !== null) observer.observe(end);
      });
      return html`${trimNote(context.overview())} ${form()} ${list()}`;
    },
  };

  function form(): TemplateResult {
    const loaded = facets.state();
    const counts = loaded.kind === 'loaded' ? loaded.value : undefined;
    const select = (
      name: FilterName,
      label: string,
      values: Readonly<Record<string, number>> | undefined,
      text = (value: string) => value,
    ) => html`<label
      >${label}
      <select .value=${live(filter[name] ?? '')} @change=${(event: Event) => choose(name, (event.target as HTMLSelectElement).value)}>
        <option value="">any</option>
        ${withChosen(values ?? {}, filter[name]).map(
          ([value, count]) =>
            html`<option value=${value} ?selected=${filter[name] === value}>${text(value)} (${count})</option>`,
        )}
      </select></label
    >`;
    const field = (name: FilterName, label: string, hint: string) => html`<label
      >${label}
      <input
        type="search"
        placeholder=${hint}
        .value=${live(filter[name] ?? '')}
        @input=${(event: Event) => {
          const { value } = event.target as HTMLInputElement;
          filter = { ...filter, [name]: value };
          clearTimeout(timer);
          timer = setTimeout(() => choose(name, value), TYPING_MS);
        }}
    /></label>`;
    return html`<form class="filters" role="search" aria-label="Filter turns" @submit=${(event: Event) => event.preventDefault()}>
      ${field('words', 'Words', 'any text')} ${select('outcome', 'Outcome', counts?.outcomes)}
      ${select('verdict', 'Verdict', counts?.verdicts)} ${select('reason', 'Reason', counts?.reasons)}
      ${select('version', 'Version', counts?.versions, (value) => `v${value}`)} ${select('person', 'Person', counts?.people)}
      ${field('session', 'Session', 'its whole name')}
    </form>`;
  }

  function list(): TemplateResult {
    const isFiltered = Object.values(filter).some((value) => value !== '');
    if (typeof state === 'object') return failed(state);
    if (turns.length === 0 && state === 'loading') return html`<p class="quiet">Loading …</p>`;
    if (turns.length === 0)
      return isFiltered
        ? empty('No turn matches.', 'Words are searched in the first 240 characters of each text.')
        : empty('No turns yet.', html`<a href="#/">Try it</a>, or <a href="#/connect">connect a client</a>.`);
    return html`
      ${
        isWindow
          ? html`<p class="quiet">These are older turns. <button type="button" @click=${show}>Back to the newest</button></p>`
          : nothing
      }
      <ol class="turns" aria-label="Turns, newest first">
        ${repeat(turns, ({ id }) => id, item)}
      </ol>
      <p id="more" class="quiet">
        ${next === null ? 'End of the list.' : html`<button type="button" @click=${() => void more()}>Older turns</button>`}
      </p>
    `;
  }
}

/** The chosen value stays selectable when no turn has it any more. */
const withChosen = (values: Readonly<Record<string, number>>, chosen: string | undefined) => {
  const all = Object.entries(values).sort(([, a], [, b]) => b - a);
  return chosen === undefined || chosen === '' || chosen in values
    ? all
    : [...all, [chosen, 0] as [string, number]];
};

const item = (turn: TurnItem): TemplateResult => html`<li class="turn">
  <div class="turn-head">
    ${turnLink(turn.id, turn.asked === '' ? '(no words)' : turn.asked)}
    <span class="marks">${verdictBadge(turn)} ${outcomeBadge(turn)} ${turn.isDeleted ? badge('plain', 'deleted') : nothing}</span>
  </div>
  <p class="answer">${turn.answered === '' ? '(no text)' : turn.answered}</p>
  ${turn.reaction === '' ? nothing : html`<p class="reaction"><span class="label">then</span> ${turn.reaction}</p>`}
  ${turn.explanation === null ? nothing : html`<p class="why">${turn.explanation.why}</p>`}
  <p class="quiet">
    ${timeOf(turn.time)} · v${turn.version}${turn.live ? '' : ' (fixed)'} · ${turn.person}${
      turn.session === ''
        ? nothing
        : html` · <a href=${`#/turns?session=${encodeURIComponent(turn.session)}`}>${turn.session}</a>`
    }
  </p>
</li>`;
