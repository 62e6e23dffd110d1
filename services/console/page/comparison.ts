import { html, nothing, type TemplateResult } from 'lit-html';
import { live } from 'lit-html/directives/live.js';
import { chat, get } from './client.ts';
import type { Context } from './context.ts';
import { asFailure } from './parts.ts';

type Models = {
  readonly data: readonly { readonly id: string; readonly clawloop: { readonly live: boolean } }[];
};
type Answer = { readonly prompt: string; readonly texts: [string, string]; failure?: string };

/** Prompts to begin with. */
const prompts = [
  'How do I pack for a weekend trip?',
  'What do I eat for a quick breakfast?',
  'How do I tidy my desk?',
];

/** The model names that serving offers for an adapter: fixed versions, and the live one. */
export async function modelsOf(adapter: string, isFirst: boolean): Promise<readonly string[]> {
  const { data } = await get<Models>('/serving/v1/models');
  const base = data[0]?.id ?? 'clawloop';
  const name = isFirst ? base : `${base}:${adapter}`;
  return data.map(({ id }) => id).filter((id) => id === name || id.startsWith(`${name}@`));
}

/** The same prompts, answered by two versions side by side. Turns of fixed versions do not train. */
export function createComparison(context: Context) {
  let models: readonly string[] = [];
  let chosen: [string, string] = ['', ''];
  let text = prompts.join('\n');
  let answers: readonly Answer[] = [];
  let isRunning = false;

  const open = (): void => {
    const first = context.overview()?.adapters[0]?.name;
    modelsOf(context.adapter(), first === undefined || first === context.adapter()).then(
      (names) => {
        models = names.filter((name) => name.includes('@'));
        chosen = [models[0] ?? '', models.at(-1) ?? ''];
        context.draw();
      },
      () => {},
    );
  };
  const run = async (): Promise<void> => {
    isRunning = true;
    answers = text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .slice(0, 10)
      .map((prompt): Answer => ({ prompt, texts: ['', ''] }));
    context.draw();
    for (const answer of answers) {
      await Promise.all(
        chosen.map((model, index) =>
          chat(
            { model, messages: [{ role: 'user', content: answer.prompt }], temperature: 0 },
            undefined,
            (more) => {
              answer.texts[index as 0 | 1] += more;
              context.draw();
            },
          ),
        ),
      ).catch((error: unknown) => {
        answer.failure = asFailure(error).message;
      });
    }
    isRunning = false;
    context.draw();
  };

  const select = (index: 0 | 1, label: string): TemplateResult => html`<label>${label}
    <select .value=${live(chosen[index])} @change=${(event: Event) => {
      chosen[index] = (event.target as HTMLSelectElement).value;
    }}>${models.map((name) => html`<option value=${name} ?selected=${name === chosen[index]}>${nameOf(name)}</option>`)}</select></label>`;

  return {
    open,
    view: (_head: number): TemplateResult =>
      models.length < 2
        ? html``
        : html`<section>
      <h2>Side by side</h2>
      <form class="filters" @submit=${(event: Event) => {
        event.preventDefault();
        if (!isRunning) void run();
      }}>
        ${select(0, 'One version')} ${select(1, 'The other')}
        <label class="wide">Prompts, one per line
          <textarea rows="3" .value=${live(text)} @input=${(event: Event) => {
            text = (event.target as HTMLTextAreaElement).value;
          }}></textarea></label>
        <button type="submit" ?disabled=${isRunning}>${isRunning ? 'Answering …' : 'Ask both'}</button>
      </form>
      ${answers.map(
        ({ prompt, texts, failure }) => html`<article class="pair">
          <h3>${prompt}</h3>
          ${failure === undefined ? nothing : html`<p class="failure" role="alert">${failure}</p>`}
          <div class="two">${texts.map((words, index) => html`<div><h4>${nameOf(chosen[index]!)}</h4><p class="words">${words === '' ? '…' : words}</p></div>`)}</div>
        </article>`,
      )}
      <p class="quiet">Temperature 0. The model does not learn from these chats.</p>
    </section>`,
  };
}

/** `clawloop@v3` is v3, `clawloop@base` is v0. */
const nameOf = (model: string): string => {
  const version = model.split('@')[1] ?? '';
  return version === 'base' ? 'v0 (base)' : version;
};
