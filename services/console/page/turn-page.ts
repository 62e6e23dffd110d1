import { html, nothing, type TemplateResult } from 'lit-html';
import type { ShownRecord, TurnDetail } from '../api/shapes.ts';
import { get, post } from './client.ts';
import { type Context, mayConcern, type Page } from './context.ts';
import {
  badge,
  createLoader,
  outcomeBadge,
  type Part,
  placeLink,
  timeOf,
  verdictBadge,
  whenLoaded,
} from './parts.ts';

type Data = Readonly<Record<string, unknown>>;

/** One turn: the whole chain from request to version, with the place of every record. */
export function turnPage(context: Context): Page {
  const loader = createLoader<TurnDetail>(context.draw);
  let id = '';
  const read = () => get<TurnDetail>(`/api/turns/${encodeURIComponent(id)}`);
  return {
    title: 'Turn',
    open: (rest) => {
      id = rest[0] ?? '';
      void loader.load(read);
    },
    changed: (change) => {
      if (mayConcern(change, id) || change.changed.versions) loader.refresh(read);
    },
    view: () => html`<p><a href="#/turns">All turns</a></p>
      ${whenLoaded(loader.state(), (detail) => html`${summary(detail)} ${actions(detail)} ${chain(detail)}`)}`,
  };

  function actions({ turn, records, mayWithdraw }: TurnDetail): TemplateResult {
    const answered = records.find(
      ({ event }) => event?.type === 'interaction.completed' && event.id === turn.id,
    );
    if (answered === undefined) return html``;
    const { partition, offset } = answered.place;
    const body = { turn_id: turn.id, at: { partition, offset } };
    const withdraw = () =>
      context.ask({
        title: 'Keep this turn from training?',
        text: 'It stays in the log and in the conversation. It does not train. This cannot be undone.',
        yes: 'Keep from training',
        run: async () => {
          await post('/serving/v1/turns/withdraw', body);
          return 'The turn is withdrawn.';
        },
      });
    const remove = () =>
      context.ask({
        title: 'Delete this answer?',
        text: 'Clients can no longer find the answer by its id. It does not train, unless a version has already learned from it. The log keeps its record. You cannot undo this.',
        yes: 'Delete',
        run: async () => {
          await post('/serving/v1/turns/delete', body);
          return 'The answer is deleted.';
        },
      });
    return html`<p class="actions">
      ${mayWithdraw ? html`<button type="button" @click=${withdraw}>Keep from training …</button>` : nothing}
      ${turn.isDeleted ? badge('plain', 'deleted') : html`<button type="button" @click=${remove}>Delete …</button>`}
    </p>`;
  }
}

const summary = ({ turn, rule }: TurnDetail): TemplateResult => html`
  <p class="marks">${verdictBadge(turn)} ${outcomeBadge(turn)}</p>
  ${
    turn.explanation === null
      ? html`<p class="lead">It trained in <a href="#/versions">v${turn.trainedIn}</a>.</p>`
      : html`<div class="explain">
        <p><strong>Why:</strong> ${turn.explanation.why}</p>
        <p><strong>What you can do:</strong> ${turn.explanation.change}</p>
      </div>`
  }
  <dl class="facts">
    <div><dt>Id</dt><dd><code>${turn.id}</code></dd></div>
    <div><dt>Time</dt><dd>${timeOf(turn.time)}</dd></div>
    <div><dt>Answered by</dt><dd>v${turn.version}${turn.live ? '' : ', a fixed version'} of ${turn.adapter}</dd></div>
    <div><dt>Person</dt><dd>${turn.person}${turn.user === null ? '' : ` (${turn.user})`}</dd></div>
    <div>
      <dt>Session</dt>
      <dd>${turn.session === '' ? 'not known yet' : html`<a href=${`#/turns?session=${encodeURIComponent(turn.session)}`}>${turn.session}</a>`}</dd>
    </div>
    <div><dt>Rule</dt><dd>${rule === '' ? 'not known yet' : rule}</dd></div>
    <div><dt>Verdict</dt><dd>${turn.verdictText === '' ? 'none yet' : turn.verdictText}</dd></div>
  </dl>
`;

const chain = ({ turn, records }: TurnDetail): TemplateResult => html`<h2>From the request to the version</h2>
  <ol class="chain">
    ${records.map(
      ({ place, event }) => html`<li>
        <div class="step-head"><h3>${event === null ? 'A record that is gone' : titleOf(event, turn.id)}</h3>${placeLink(place)}</div>
        ${
          event === null
            ? html`<p class="why">It is no longer in the log, or cannot be read.</p>`
            : html`${bodyOf(event, turn.id)}
              <p class="quiet">${timeOf(event.time)} · <code>${event.type}</code> · ${event.source}</p>`
        }
      </li>`,
    )}
  </ol>`;

type ShownEvent = NonNullable<ShownRecord['event']>;

const titles: Readonly<Record<string, string>> = {
  'interaction.failed': 'The request failed',
  'feedback.given': 'Feedback',
  'turn.completed': 'What followed',
  'turn.continued': 'What followed later',
  'turn.skipped': 'Not trained',
  'turn.withdrawn': 'Withdrawn from training',
  'turn.feedback': 'The feedback belongs to this turn',
  'vote.cast': 'Vote',
  'hint.cast': 'Hint of the judge',
  'vote.expired': 'A vote did not come in time',
  'vote.failed': 'A vote failed',
  'judgment.reached': 'Verdict',
  'judgment.revised': 'The verdict changed',
  'verdict.recorded': 'The verdict counts for the version',
  'sample.ready': 'Sample',
  'sample.dropped': 'The sample does not train',
  'sample.withdrawn': 'The sample is withdrawn',
  'batch.submitted': 'Batch',
  'batch.returned': 'The batch trains again',
  'policy.trained': 'Training step',
  'policy.promoted': 'New version',
  'policy.rejected': 'The candidate was rejected',
  'policy.update-failed': 'The step failed',
  'response.deleted': 'Deleted',
  'interaction.withdrawn': 'An operator withdrew it',
};

const titleOf = ({ type, data }: ShownEvent, turn: string): string =>
  type === 'interaction.completed'
    ? data.interactionId === turn
      ? 'Request and answer'
      : 'The next request'
    : (titles[type] ?? type);

const text = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

function messageText(message: unknown): string {
  const { content, tool_calls: calls } = (message ?? {}) as Data;
  const words =
    typeof content === 'string'
      ? content
      : Array.isArray(content)
        ? content.map((part: Data) => text(part.text ?? `[${text(part.type)}]`)).join('\n')
        : '';
  const called = Array.isArray(calls)
    ? calls.map(
        (call: Data) => `${text((call.function as Data)?.name)}(${text((call.function as Data)?.arguments)})`,
      )
    : [];
  return [words, ...called].filter((line) => line !== '').join('\n');
}

const message = (value: unknown): TemplateResult => {
  const role = text((value as Data)?.role);
  return html`<div class="message ${role}"><span class="label">${role}</span><div class="words">${messageText(value)}</div></div>`;
};

/** Messages of a request that are shown at once; the others on demand. */
const LATEST = 2;

function messages(values: unknown): Part {
  if (!Array.isArray(values)) return nothing;
  const [earlier, latest] = [values.slice(0, -LATEST), values.slice(-LATEST)];
  return html`${
    earlier.length === 0
      ? nothing
      : html`<details><summary>${earlier.length} earlier messages</summary>${earlier.map(message)}</details>`
  }
    ${latest.map(message)}`;
}

const pairs = (entries: readonly (readonly [string, unknown])[]): TemplateResult => html`<dl class="facts">
  ${entries
    .filter(([, value]) => text(value) !== '')
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${text(value)}</dd></div>`)}
</dl>`;

const listed = (value: unknown): string => (Array.isArray(value) ? value.map(text).join('; ') : '');

function bodyOf({ type, data }: ShownEvent, turn: string): Part {
  switch (type) {
    case 'interaction.completed':
      return data.interactionId === turn
        ? html`${messages(data.messages)} ${message(data.answer)}
          ${pairs([
            ['Finished by', data.finishReason],
            ['Cannot train', data.untrainable],
          ])}`
        : messages((data.messages as unknown[]).slice(-1));
    case 'turn.completed':
    case 'turn.continued':
      return html`${messages(data.next)} ${pairs([
        ['What the person did', data.implies],
        ['Session found by', data.sessionBy],
      ])}
      ${(data.next as unknown[]).length === 0 ? html`<p>No message followed.</p>` : nothing}`;
    case 'turn.skipped':
    case 'sample.dropped':
    case 'sample.withdrawn':
    case 'turn.withdrawn':
      return pairs([
        ['Reason', data.reason],
        ['Rule', data.rule],
      ]);
    case 'vote.cast':
      return pairs([
        ['Vote', data.vote ?? 'none: it could not be read'],
        ['In the words of the judge', data.text],
        ['Hint', data.hint],
        ['Reaction', data.reaction],
        ['Judge', [data.judge, data.model].map(text).filter(Boolean).join(' ')],
      ]);
    case 'hint.cast':
      return pairs([
        ['Hint', data.hint],
        ['In the words of the judge', data.text],
      ]);
    case 'feedback.given':
    case 'turn.feedback':
      return pairs([
        ['Score', data.score],
        ['Comment', data.comment],
      ]);
    case 'judgment.reached':
    case 'judgment.revised':
      return pairs([
        ['Score', data.score ?? (type === 'judgment.revised' ? 'unchanged' : 'none')],
        ['Source', data.source],
        ['Votes', listed(data.votes)],
        ['Hints', listed(data.hints)],
        ['The person', data.implied],
      ]);
    case 'sample.ready':
      return pairs([
        ['Verdict', data.verdict],
        ['Source', data.source],
        ['Hints', listed(data.hints)],
        ['Weight', data.weight],
      ]);
    case 'batch.submitted':
      return pairs([
        ['Batch', data.batchId],
        ['Samples', (data.samples as unknown[]).length],
        ['Parent', `v${text(data.parent)}`],
        ['Makes', `v${text(data.n)}`],
        ['Again', data.again],
      ]);
    case 'batch.returned':
      return pairs([
        ['Batch', data.batchId],
        ['Samples', (data.samples as unknown[]).length],
        ['Left out', data.without],
        ['Reason', data.reason],
      ]);
    case 'verdict.recorded':
      return pairs([
        ['Version', `v${text(data.version)}`],
        ['Score', data.score],
        ['Source', data.source],
      ]);
    case 'policy.trained': {
      const figures = Object.entries(data.metrics as Data).map(
        ([name, value]) => [name, Number(Number(value).toPrecision(4))] as const,
      );
      return html`${pairs([
        ['Version', `v${text(data.version)}`],
        ['Took', `${(Number(data.milliseconds) / 1000).toFixed(1)} s`],
      ])}
        <details><summary>${figures.length} figures of the step</summary>${pairs(figures)}</details>`;
    }
    case 'policy.promoted':
      return html`<p>v${text(data.to)} replaced v${text(data.from)}. <a href="#/versions">All versions</a></p>`;
    case 'policy.rejected':
    case 'policy.update-failed':
      return pairs([
        ['Reason', data.reason],
        ['Detail', data.detail],
      ]);
    default:
      return pairs(Object.entries(data).filter(([, value]) => typeof value !== 'object'));
  }
}
