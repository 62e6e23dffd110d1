import { spokenMessages } from '../../../shared/chat/client-blocks.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { SessionOpened } from '../../../shared/events/session-opened.ts';
import type { TokenRecord } from '../../../shared/events/token-record.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnContinued } from '../../../shared/events/turn-continued.ts';
import { type Audited, digestOf, type ReportViolation, shortDigestOf, tokensDigestOf } from './audited.ts';
import { type Books, openTextNumbers, openTextSet } from './books/books.ts';
import { openMessageLists } from './books/message-lists.ts';
import { openTable } from './books/table.ts';

type Content = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Data of an event that may name its epoch. */
type OfEpoch = { readonly lane: string; readonly session?: string; readonly epoch?: string };

/** What a turn copies from its interaction: digests of bodies, and plain values. */
const answered = {
  lane: 'name',
  key: 'name',
  adapter: 'name',
  version: 'count',
  settle: 'name',
  messages: 'number',
  tools: 'number',
  'template input': 'number',
  'token record': 'number',
  answer: 'number',
} as const;

/** What a sample copies from its turn. */
const completed = {
  lane: 'name',
  adapter: 'name',
  version: 'count',
  session: 'name',
  epoch: 'name',
  messages: 'number',
  tools: 'number',
  'template input': 'number',
  'token record': 'number',
} as const;

/** What else is known of an interaction. */
const facts = {
  /** number of answers before it */
  order: 'count',
  /** digest of all but its bodies */
  rest: 'number',
  session: 'name',
  /** digests of the messages in the request */
  request: 'count',
  /** why it cannot become a turn */
  unfit: 'name',
} as const;

type Bodies = Pick<SampleReady['data'], 'messages' | 'tools' | 'templateInput'> & {
  readonly tokens: TokenRecord | null;
};

const bodiesOf = ({ messages, tools, templateInput, tokens }: Bodies) => ({
  messages: digestOf(messages),
  tools: digestOf(tools),
  'template input': digestOf(templateInput),
  'token record': tokensDigestOf(tokens),
});

const ofEpoch: ReadonlySet<string> = new Set(['turn.completed', 'turn.skipped', 'session.closed']);

/** Messages of a request as received and, where different, without the additions of the client. */
function bothForms(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const spoken = spokenMessages(messages);
  return messages.flatMap((message, at) => (spoken[at] === message ? message : [message, spoken[at]!]));
}

/**
 * Checks that a turn has the content of its interaction, and a sample that of its turn: tokens, logprobs,
 * messages, version, adapter, lane and key. The next state must be in the request that brought it. Feed it
 * conversations, turns, training. It keeps digests.
 */
export class ContentCheck {
  readonly #violation: ReportViolation;
  readonly #items;
  readonly #answered;
  readonly #facts;
  readonly #turns;
  readonly #requests = openMessageLists();
  readonly #opened;
  /** by lane: order of the first event that begins a recorded epoch, plus 1 */
  readonly #firstOpened;
  #answers = 0;

  constructor(violation: ReportViolation, { items, names }: Books) {
    this.#violation = violation;
    this.#items = items;
    this.#answered = openTable(names, answered);
    this.#facts = openTable(names, facts);
    this.#turns = openTable(names, completed);
    this.#opened = openTextSet(items);
    this.#firstOpened = openTextNumbers(names, 'int');
  }

  #onInteraction({ id, data, erased }: InteractionCompleted): void {
    const { lane, key, adapter, version, settle, session } = data;
    const { messages: _, tools: __, templateInput: ___, tokens: ____, answer: _____, ...others } = data;
    const rest = digestOf(others);
    const content = { lane, key, adapter, version, settle, ...bodiesOf(data), answer: digestOf(data.answer) };
    const number = this.#items.add(id);
    const before = this.#facts.get(number);
    if (before !== undefined) {
      if (before.rest !== rest || differencesOf(content, this.#answered.get(number)!).length > 0)
        this.#violation(`${id} is in the log twice, with different contents`);
      return;
    }
    this.#answered.set(number, content);
    const request = this.#requests.add(bothForms(data.messages).map(shortDigestOf));
    const order = this.#answers++;
    this.#facts.set(number, {
      order,
      rest,
      session,
      request,
      unfit: erased === undefined ? unfit(data) : undefined,
    });
  }

  #onTurn({ data }: TurnCompleted | TurnContinued): void {
    const { turnId, lane, key, adapter, version, settle, session, epoch, sessionBy } = data;
    const bodies = bodiesOf(data);
    const content = { lane, key, adapter, version, settle, ...bodies, answer: digestOf(data.answer) };
    const number = this.#items.add(turnId);
    if (!this.#turns.has(number))
      this.#turns.set(number, { lane, adapter, version, session, epoch, ...bodies });
    const answer = this.#facts.get(number);
    if (answer !== undefined) {
      this.#compare(`the turn of ${turnId}`, content, `its interaction`, this.#answered.get(number)!);
      if (answer.unfit !== undefined) this.#violation(`${turnId} became a turn, although ${answer.unfit}`);
      if (answer.session !== undefined && answer.session !== session)
        this.#violation(
          `${turnId} belongs to session ${answer.session}, but its turn is in session ${session}`,
        );
      if ((answer.session !== undefined) !== (sessionBy === 'explicit'))
        this.#violation(
          `the session of ${turnId} was found by '${sessionBy}', but its interaction contradicts that`,
        );
    }
    if (sessionBy === 'new' && session !== `chat-${turnId}`)
      this.#violation(`${turnId} began a session, but its turn is in session ${session}`);
    this.#checkNext(data);
  }

  #checkNext({ turnId, next, from, by }: TurnCompleted['data']): void {
    if (from === null) {
      if (next.length > 0)
        this.#violation(`the turn of ${turnId} has a next state that no interaction contains`);
      return;
    }
    if (by !== from && by !== turnId)
      this.#violation(`the turn of ${turnId} was completed by ${by}, but its next state comes from ${from}`);
    const source = this.#facts.get(this.#items.find(from));
    if (source === undefined) {
      this.#violation(
        `the next state of ${turnId} comes from ${from}, which is not in the log`,
        'conversations',
      );
      return;
    }
    if (!this.#requests.contains(source.request, next.map(shortDigestOf)))
      this.#violation(`the next state of ${turnId} has a message that is not in ${from}`);
  }

  #onSample({ data }: SampleReady): void {
    const { sampleId, lane, adapter, version, session, epoch } = data;
    const turn = this.#turns.get(this.#items.find(turnOfSample(sampleId)));
    if (turn === undefined) return; // reported by the conservation check
    this.#compare(
      `the sample of ${sampleId}`,
      { lane, adapter, version, session, epoch, ...bodiesOf(data) },
      `its turn`,
      turn,
    );
  }

  /** Old logs record no epochs. After the first in a lane, every epoch is recorded before its events. */
  #onOpened({ data: { lane, epoch } }: SessionOpened): void {
    this.#opened.add(epoch);
    const order = this.#orderOf(epoch);
    if (order !== undefined)
      this.#firstOpened.set(lane, Math.min(order, (this.#firstOpened.get(lane) || order + 1) - 1) + 1);
  }

  #orderOf(epoch: string): number | undefined {
    return this.#facts.get(this.#items.find(epoch))?.order;
  }

  #checkOpened({ lane, session, epoch }: OfEpoch): void {
    const order = epoch === undefined ? undefined : this.#orderOf(epoch);
    if (order === undefined || this.#opened.has(epoch!)) return;
    const first = this.#firstOpened.get(lane);
    if (first === 0 || order <= first - 1) return;
    this.#opened.add(epoch!);
    // a trimmed log has a later copy of the epoch's first event, so the order tells nothing either
    this.#violation(`session ${session} has events of an epoch that was never opened: ${epoch}`, 'turns');
  }

  #compare(what: string, actual: Content, source: string, expected: Content): void {
    const different = differencesOf(actual, expected);
    if (different.length > 0) this.#violation(`${what} differs from ${source}: ${different.join(', ')}`);
  }

  readonly on = ({ event }: Audited): void => {
    if (event.type === 'interaction.completed') this.#onInteraction(event);
    else if (event.type === 'turn.completed' || event.type === 'turn.continued') this.#onTurn(event);
    else if (event.type === 'sample.ready') this.#onSample(event);
    else if (event.type === 'session.opened') this.#onOpened(event);
    if (ofEpoch.has(event.type)) this.#checkOpened(event.data as OfEpoch);
  };
}

const differencesOf = (actual: Content, expected: Content): readonly string[] =>
  Object.keys(expected).filter((field) => actual[field] !== expected[field]);

function unfit({
  disconnected,
  finishReason,
  untrainable,
  tooLarge,
  tokens,
  engineFinishReason,
}: InteractionCompleted['data']) {
  if (disconnected) return 'its client disconnected';
  if (!['stop', 'tool_calls'].includes(finishReason)) return `it ended with '${finishReason}'`;
  if (engineFinishReason !== undefined) return `its engine ended it with '${engineFinishReason}'`;
  if (untrainable !== undefined) return `it cannot train: ${untrainable}`;
  if (tooLarge) return 'it was recorded without bodies';
  if (tokens === null || tokens.responseIds.length === 0) return 'it has no token ids';
  if (tokens.responseIds.length !== tokens.logProbs.length) return 'it lacks logprobs';
  return undefined;
}
