import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import type { Overview, TurnDetail, TurnItem } from '../api/shapes.ts';
import { type ChatMessage, chat, get, post } from './client.ts';
import { modelsOf } from './comparison.ts';
import { type Context, mayConcern, type Page } from './context.ts';
import { asFailure, badge, outcomeBadge, type Part, turnLink, verdictBadge } from './parts.ts';

type Answer = {
  readonly role: 'assistant';
  content: string;
  id: string;
  version: string | null;
  thumb?: 'up' | 'down';
  failure?: string;
  turn?: TurnItem;
};
type Message = { readonly role: 'user'; readonly content: string } | Answer;

const newSession = (): string => `console-${crypto.randomUUID().slice(0, 8)}`;
/** ms until the console has read the answer from the log */
const READ_MS = 800;
const examples = [
  'How do I pack for a weekend trip?',
  'What do I eat for a quick breakfast?',
  'How do I tidy my desk?',
];

/** A chat with the live version, or with any other; each answer shows what becomes of it. */
/** px from the end of the page within which a reader follows the talk */
const NEAR_END = 120;

export function tryPage(context: Context): Page {
  let messages: Message[] = [];
  let session = newSession();
  let models: readonly string[] = [];
  let model = '';
  let draft = '';
  let running: AbortController | undefined;

  const loadModels = (): void => {
    const first = context.overview()?.adapters[0]?.name;
    modelsOf(context.adapter(), first === undefined || first === context.adapter()).then(
      (names) => {
        models = names;
        if (!names.includes(model)) model = names[0] ?? '';
        context.draw();
      },
      () => {}, // serving may be starting
    );
  };
  const follow = async (answer: Answer): Promise<void> => {
    if (answer.id === '') return;
    const detail = await get<TurnDetail>(`/api/turns/${encodeURIComponent(answer.id)}`).catch(
      () => undefined,
    );
    if (detail === undefined) return;
    answer.turn = detail.turn;
    context.draw();
  };
  /** Draws, and keeps the newest words in view unless the reader scrolled up. */
  const drawTalk = (isNew: boolean): void => {
    const { scrollHeight } = document.documentElement;
    const isAtEnd = scrollHeight - window.innerHeight - window.scrollY < NEAR_END;
    context.draw();
    if (isNew || isAtEnd)
      requestAnimationFrame(() => window.scrollTo(0, document.documentElement.scrollHeight));
  };
  const send = async (content: string): Promise<void> => {
    if (running !== undefined || content.trim() === '') return;
    running = new AbortController();
    draft = '';
    messages.push({ role: 'user', content });
    const history = messages.flatMap((message): readonly ChatMessage[] =>
      message.role === 'assistant' && message.failure !== undefined
        ? []
        : [{ role: message.role, content: message.content }],
    );
    const answer: Answer = { role: 'assistant', content: '', id: '', version: null };
    messages.push(answer);
    drawTalk(true);
    try {
      const { id, version } = await chat(
        { model: model === '' ? 'clawloop' : model, messages: history },
        session,
        (text) => {
          answer.content += text;
          drawTalk(false);
        },
        running.signal,
      );
      Object.assign(answer, { id, version });
      setTimeout(() => void follow(answer), READ_MS);
    } catch (error) {
      answer.failure = running.signal.aborted ? 'You stopped the answer.' : asFailure(error).message;
    }
    running = undefined;
    drawTalk(false);
    document.querySelector<HTMLTextAreaElement>('#draft')?.focus();
  };
  const rate = async (answer: Answer, thumb: 'up' | 'down'): Promise<void> => {
    try {
      await post('/serving/v1/feedback', { completion_id: answer.id, rating: thumb });
      answer.thumb = thumb;
      context.say(thumb === 'up' ? 'Marked as good.' : 'Marked as bad.');
    } catch (error) {
      context.fail(error);
    }
    context.draw();
  };
  const restart = (): void => {
    running?.abort();
    if (messages.length > 0) void post('/serving/v1/sessions/end', { session }).catch(() => {}); // nothing was said yet
    [messages, session] = [[], newSession()];
    context.draw();
  };

  return {
    title: 'Try it',
    open: loadModels,
    changed: (change) => {
      if (change.changed.versions) loadModels();
      for (const message of messages)
        if (
          message.role === 'assistant' &&
          (message.turn?.outcome === 'open'
            ? mayConcern(change, message.id)
            : change.changed.turns.includes(message.id))
        )
          void follow(message);
    },
    view: () => html`${steps(context.overview())}
      <section class="chat" aria-label="Chat">
        ${bar()}
        <div class="talk" role="log" aria-label="Conversation">
          ${messages.length === 0 ? welcome() : messages.map(bubble)}
        </div>
        ${form()}
      </section>`,
  };

  function bar(): TemplateResult {
    return html`<div class="bar">
      <label>Version
        <select .value=${live(model)} @change=${(event: Event) => {
          model = (event.target as HTMLSelectElement).value;
          context.draw();
        }}>
          ${models.map((name) => html`<option value=${name} ?selected=${name === model}>${name.includes('@') ? name.split('@')[1] : 'live'}</option>`)}
        </select></label>
      <button type="button" @click=${restart} ?disabled=${messages.length === 0}>New conversation</button>
      ${model.includes('@') ? html`<span class="quiet">A fixed version: these turns do not train.</span>` : nothing}
    </div>`;
  }

  function welcome(): TemplateResult {
    return html`<div class="welcome"><p>Ask something, and react to the answer as you would to a person. The model learns from your reaction.</p>
      <p class="examples">${examples.map((example) => html`<button type="button" @click=${() => void send(example)}>${example}</button>`)}</p></div>`;
  }

  function bubble(message: Message): TemplateResult {
    if (message.role === 'user')
      return html`<div class="bubble user"><span class="label">you</span><div class="words">${message.content}</div></div>`;
    const { content, version, failure, id, turn } = message;
    return html`<div class="bubble assistant">
      <span class="label">${turn === undefined ? (version === null ? 'answer' : `v${version}`) : `v${turn.version}`}</span>
      <div class="words">${content === '' && failure === undefined ? '…' : content}</div>
      ${failure === undefined ? nothing : html`<p class="failure" role="alert">${failure}</p>`}
      ${id === '' ? nothing : html`<div class="under">${thumbs(message)} ${fate(turn)}</div>`}
    </div>`;
  }

  function thumbs(answer: Answer): TemplateResult {
    const thumb = (value: 'up' | 'down', sign: string, name: string) =>
      html`<button type="button" class="thumb" title=${name} aria-pressed=${answer.thumb === value} @click=${() => void rate(answer, value)}>${sign}</button>`;
    return html`${thumb('up', 'Good', 'Good answer')}${thumb('down', 'Bad', 'Bad answer')}`;
  }

  function form(): TemplateResult {
    const submit = (event: Event) => {
      event.preventDefault();
      void send(draft);
    };
    return html`<form class="say" @submit=${submit}>
      <label for="draft" class="hidden">Message</label>
      <textarea
        id="draft" rows="2" placeholder="Enter sends. Shift+Enter starts a new line."
        .value=${live(draft)}
        @input=${(event: Event) => {
          draft = (event.target as HTMLTextAreaElement).value;
        }}
        @keydown=${(event: KeyboardEvent) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          submit(event);
        }}
      ></textarea>
      ${running === undefined ? html`<button type="submit" class="main">Send</button>` : html`<button type="button" @click=${() => running?.abort()}>Stop</button>`}
    </form>`;
  }
}

/** The glossary's words mean little to somebody who chats for the first time. */
const plainStage = (stage: string): string =>
  stage === 'waiting for next state' ? 'waiting for your reaction' : stage;

/** What became of the turn so far. */
const fate = (turn: TurnItem | undefined): Part =>
  turn === undefined
    ? nothing
    : html`${verdictBadge(turn)} ${outcomeBadge({ ...turn, stage: plainStage(turn.stage) })} ${turnLink(turn.id, 'why')}
      ${turn.hints.length === 0 ? nothing : html`<span class="quiet">hint: ${turn.hints.join(' ')}</span>`}`;

/** Turns after which nobody needs the first steps. */
const FIRST_TURNS = 30;

/** The first run: four steps, each ticked when the log says so. */
function steps(overview: Overview | undefined): Part {
  if (overview === undefined || overview.turns > FIRST_TURNS) return nothing;
  const { chatted, reacted, judged, learned } = overview.firstRun;
  const head = overview.adapters[0]?.head ?? 0;
  const isTraining = overview.adapters.some(({ training }) => training !== null);
  const all: readonly (readonly [boolean, Part, Part])[] = [
    [chatted, 'Chat', html`Ask something below, or <a href="#/connect">connect a client</a>.`],
    [reacted, 'Correct it', 'Answer as you would to a person: "Too long. One sentence, please."'],
    [
      judged,
      'See the verdict',
      html`The judge reads your reaction. <a href="#/turns">Turns</a> says what it heard.`,
    ],
    [
      learned,
      'See the version change',
      learned
        ? html`v${head} answers now. <a href="#/versions">Compare it, or roll back</a>.`
        : isTraining
          ? 'A step is running: some seconds.'
          : html`Two such reactions start a step. <a href="#/versions">Versions</a> shows the result.`,
    ],
  ];
  const current = all.findIndex(([isDone]) => !isDone);
  return html`<section class="steps" aria-label="First steps"><ol>
    ${all.map(
      (
        [isDone, title, more],
        index,
      ) => html`<li class=${isDone ? 'done' : index === current ? 'current' : ''} aria-current=${index === current ? 'step' : 'false'}>
      <strong>${isDone ? badge('good', 'done') : nothing} ${title}</strong> <span>${more}</span>
    </li>`,
    )}
  </ol></section>`;
}
