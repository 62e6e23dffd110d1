import { spokenMessages } from '../../../shared/chat/client-blocks.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { SessionOpened } from '../../../shared/events/session-opened.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnContinued } from '../../../shared/events/turn-continued.ts';
import { type Audited, digestOf, shortDigestOf, type Tell } from './audited.ts';

/** What a turn takes over from its interaction, and a sample from its turn: plain values and digests. */
type Content = Readonly<Record<string, string | number | boolean | undefined>>;

type Answered = {
  /** how many came before it */
  readonly order: number;
  /** of the whole record */
  readonly digest: string;
  readonly content: Content;
  readonly session: string | undefined;
  /** short digests of what the request shows */
  readonly said: Uint32Array;
  /** why no turn can come of it */
  readonly unfit: string | undefined;
};

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

/** What a request shows: each message as it came and, where that differs, as it was said. */
function shown(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const spoken = spokenMessages(messages);
  return messages.flatMap((message, at) => (spoken[at] === message ? message : [message, spoken[at]!]));
}

/**
 * A turn holds the content of its interaction, and a sample the content of its turn: tokens, log-probs,
 * messages, version, adapter, lane and key. What came next stands in the request that showed it. Feed it
 * conversations, turns, training; it keeps digests.
 */
export function createContentCheck(tell: Tell) {
  const answered = new Map<string, Answered>();
  const turns = new Map<string, Content>();
  const opened = new Set<string>();
  /** of a lane: order of the first event that is told to begin an epoch */
  const firstOpened = new Map<string, number>();

  const onInteraction = ({ id, data }: InteractionCompleted): void => {
    const digest = digestOf(data);
    const before = answered.get(id);
    if (before !== undefined) {
      if (before.digest !== digest) tell(`${id} stands twice, with different contents`);
      return;
    }
    const { lane, key, adapter, version, settle, session } = data;
    const content = { lane, key, adapter, version, settle, ...bodiesOf(data), answer: digestOf(data.answer) };
    const said = Uint32Array.from(shown(data.messages), shortDigestOf);
    answered.set(id, { order: answered.size, digest, content, session, said, unfit: unfit(data) });
  };

  const onTurn = ({ data }: TurnCompleted | TurnContinued): void => {
    const { turnId, lane, key, adapter, version, settle, session, epoch, sessionBy } = data;
    const bodies = bodiesOf(data);
    const content = { lane, key, adapter, version, settle, ...bodies, answer: digestOf(data.answer) };
    if (!turns.has(turnId)) turns.set(turnId, { lane, adapter, version, session, epoch, ...bodies });
    const own = answered.get(turnId);
    if (own !== undefined) {
      compare(`the turn of ${turnId}`, content, `its interaction`, own.content);
      if (own.unfit !== undefined) tell(`${turnId} became a turn, although ${own.unfit}`);
      if (own.session !== undefined && own.session !== session)
        tell(`${turnId} belongs to session ${own.session}, and its turn stands in session ${session}`);
      if ((own.session !== undefined) !== (sessionBy === 'explicit'))
        tell(`the session of ${turnId} was found by '${sessionBy}', which its interaction contradicts`);
    }
    if (sessionBy === 'new' && session !== `chat-${turnId}`)
      tell(`${turnId} began a session, and its turn stands in session ${session}`);
    checkNext(data);
  };

  const checkNext = ({ turnId, next, from, by }: TurnCompleted['data']): void => {
    if (from === null) {
      if (next.length > 0) tell(`the turn of ${turnId} has a next state that no interaction showed`);
      return;
    }
    if (by !== from && by !== turnId)
      tell(`the turn of ${turnId} was completed by ${by}, and its next state comes from ${from}`);
    const shown = answered.get(from);
    if (shown === undefined) {
      tell(`the next state of ${turnId} comes from ${from}, which stands nowhere`, 'conversations');
      return;
    }
    let at = 0;
    for (const message of next) {
      const found = shown.said.indexOf(shortDigestOf(message), at);
      if (found < 0) {
        tell(`the next state of ${turnId} holds a message that ${from} did not show`);
        return;
      }
      at = found + 1;
    }
  };

  const onSample = ({ data }: SampleReady): void => {
    const { sampleId, lane, adapter, version, session, epoch } = data;
    const turn = turns.get(turnOfSample(sampleId));
    if (turn === undefined) return; // said where turns are counted
    compare(
      `the sample of ${sampleId}`,
      { lane, adapter, version, session, epoch, ...bodiesOf(data) },
      `its turn`,
      turn,
    );
  };

  /** Logs of earlier programs tell of no epoch; from a lane's first one on, each is told before anything in it. */
  const onOpened = ({ data: { lane, epoch } }: SessionOpened): void => {
    opened.add(epoch);
    const order = answered.get(epoch)?.order;
    if (order !== undefined) firstOpened.set(lane, Math.min(order, firstOpened.get(lane) ?? order));
  };

  const checkOpened = ({
    lane,
    session,
    epoch,
  }: {
    lane: string;
    session?: string;
    epoch?: string;
  }): void => {
    const order = epoch === undefined ? undefined : answered.get(epoch)?.order;
    if (order === undefined || opened.has(epoch!) || !(order > (firstOpened.get(lane) ?? order))) return;
    opened.add(epoch!);
    tell(`session ${session} has facts of an epoch that was never opened: ${epoch}`);
  };

  const compare = (what: string, found: Content, source: string, expected: Content): void => {
    const different = Object.keys(expected).filter((field) => found[field] !== expected[field]);
    if (different.length > 0) tell(`${what} has another ${different.join(', another ')} than ${source}`);
  };

  return ({ event }: Audited): void => {
    if (event.type === 'interaction.completed') onInteraction(event);
    else if (event.type === 'turn.completed' || event.type === 'turn.continued') onTurn(event);
    else if (event.type === 'sample.ready') onSample(event);
    else if (event.type === 'session.opened') onOpened(event);
    if (['turn.completed', 'turn.skipped', 'session.closed'].includes(event.type))
      checkOpened(event.data as Parameters<typeof checkOpened>[0]);
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
  if (disconnected) return 'its client went away';
  if (!['stop', 'tool_calls'].includes(finishReason)) return `it ended with '${finishReason}'`;
  if (engineFinishReason !== undefined) return `its engine ended it with '${engineFinishReason}'`;
  if (untrainable !== undefined) return `it cannot train: ${untrainable}`;
  if (tooLarge) return 'it was written without bodies';
  if (tokens === null || tokens.responseIds.length === 0) return 'it has no token ids';
  if (tokens.responseIds.length !== tokens.logProbs.length) return 'it lacks log-probs';
  return undefined;
}
