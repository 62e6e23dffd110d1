import { spokenMessages } from '../../../shared/chat/client-blocks.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { SessionOpened } from '../../../shared/events/session-opened.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnContinued } from '../../../shared/events/turn-continued.ts';
import { type Audited, digestOf, type ReportViolation, shortDigestOf } from './audited.ts';

/** What a turn copies from its interaction, and a sample from its turn: plain values and digests. */
type Content = Readonly<Record<string, string | number | boolean | undefined>>;

type Answered = {
  /** number of answers before it */
  readonly order: number;
  /** of the whole event */
  readonly digest: string;
  readonly content: Content;
  readonly session: string | undefined;
  /** short digests of the messages in the request */
  readonly messages: Uint32Array;
  /** why it cannot become a turn */
  readonly unfit: string | undefined;
};

/** Data of an event that may name its epoch. */
type OfEpoch = { readonly lane: string; readonly session?: string; readonly epoch?: string };

const bodiesOf = ({
  messages,
  tools,
  templateInput,
  tokens,
}: Pick<SampleReady['data'], 'messages' | 'tools' | 'templateInput'> & { readonly tokens: unknown }) => ({
  messages: digestOf(messages),
  tools: digestOf(tools),
  'template input': digestOf(templateInput),
  'token record': digestOf(tokens),
});

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
  readonly #answered = new Map<string, Answered>();
  readonly #turns = new Map<string, Content>();
  readonly #opened = new Set<string>();
  /** by lane: order of the first event that begins a recorded epoch */
  readonly #firstOpened = new Map<string, number>();

  constructor(violation: ReportViolation) {
    this.#violation = violation;
  }

  #onInteraction({ id, data, erased }: InteractionCompleted): void {
    const digest = digestOf(data);
    const before = this.#answered.get(id);
    if (before !== undefined) {
      if (before.digest !== digest) this.#violation(`${id} is in the log twice, with different contents`);
      return;
    }
    const { lane, key, adapter, version, settle, session } = data;
    const content = { lane, key, adapter, version, settle, ...bodiesOf(data), answer: digestOf(data.answer) };
    const messages = Uint32Array.from(bothForms(data.messages), shortDigestOf);
    this.#answered.set(id, {
      order: this.#answered.size,
      digest,
      content,
      session,
      messages,
      unfit: erased === undefined ? unfit(data) : undefined,
    });
  }

  #onTurn({ data }: TurnCompleted | TurnContinued): void {
    const { turnId, lane, key, adapter, version, settle, session, epoch, sessionBy } = data;
    const bodies = bodiesOf(data);
    const content = { lane, key, adapter, version, settle, ...bodies, answer: digestOf(data.answer) };
    if (!this.#turns.has(turnId))
      this.#turns.set(turnId, { lane, adapter, version, session, epoch, ...bodies });
    const answer = this.#answered.get(turnId);
    if (answer !== undefined) {
      this.#compare(`the turn of ${turnId}`, content, `its interaction`, answer.content);
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
    const source = this.#answered.get(from);
    if (source === undefined) {
      this.#violation(
        `the next state of ${turnId} comes from ${from}, which is not in the log`,
        'conversations',
      );
      return;
    }
    let at = 0;
    for (const message of next) {
      const index = source.messages.indexOf(shortDigestOf(message), at);
      if (index < 0) {
        this.#violation(`the next state of ${turnId} has a message that is not in ${from}`);
        return;
      }
      at = index + 1;
    }
  }

  #onSample({ data }: SampleReady): void {
    const { sampleId, lane, adapter, version, session, epoch } = data;
    const turn = this.#turns.get(turnOfSample(sampleId));
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
    const order = this.#answered.get(epoch)?.order;
    if (order !== undefined)
      this.#firstOpened.set(lane, Math.min(order, this.#firstOpened.get(lane) ?? order));
  }

  #checkOpened({ lane, session, epoch }: OfEpoch): void {
    const order = epoch === undefined ? undefined : this.#answered.get(epoch)?.order;
    if (order === undefined || this.#opened.has(epoch!) || !(order > (this.#firstOpened.get(lane) ?? order)))
      return;
    this.#opened.add(epoch!);
    this.#violation(`session ${session} has events of an epoch that was never opened: ${epoch}`);
  }

  #compare(what: string, actual: Content, source: string, expected: Content): void {
    const different = Object.keys(expected).filter((field) => actual[field] !== expected[field]);
    if (different.length > 0) this.#violation(`${what} differs from ${source}: ${different.join(', ')}`);
  }

  readonly on = ({ event }: Audited): void => {
    if (event.type === 'interaction.completed') this.#onInteraction(event);
    else if (event.type === 'turn.completed' || event.type === 'turn.continued') this.#onTurn(event);
    else if (event.type === 'sample.ready') this.#onSample(event);
    else if (event.type === 'session.opened') this.#onOpened(event);
    if (['turn.completed', 'turn.skipped', 'session.closed'].includes(event.type))
      this.#checkOpened(event.data as OfEpoch);
  };
}

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
