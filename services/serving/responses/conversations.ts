import { setTimeout as delay } from 'node:timers/promises';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { EventLog, Heading } from '../../../shared/log/event-log.ts';
import { laneOfCompletion } from '../chat/lane.ts';
import { withoutInstructions } from './chat-messages.ts';

/** What was said up to an answer and with it, without the instructions of its request. */
export type Conversation = { readonly keyId: string; readonly messages: readonly ChatMessage[] };

export type Conversations = {
  readonly remember: (responseId: string, conversation: Conversation) => void;
  /** By id; not in it: no answer of this id was given to this key, or it is not found in time. */
  readonly find: (
    responseIds: readonly string[],
    keyId: string,
  ) => Promise<ReadonlyMap<string, readonly ChatMessage[]>>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow'>;
  /** answers that are remembered */
  readonly most?: number;
  /** ms that an older one is looked for in the log */
  readonly limitMs?: number;
};

/**
 * The conversations that `previous_response_id` names. The latest are remembered; those of before a restart,
 * of another replica or of long ago stand in the log.
 */
export function openConversations({ log, most = 1_000, limitMs = 10_000 }: Options): Conversations {
  const latest = new Map<string, Conversation>();
  const remember = (id: string, conversation: Conversation) => {
    latest.delete(id);
    latest.set(id, conversation);
    if (latest.size > most) latest.delete(latest.keys().next().value!);
  };
  const look = async (ids: readonly string[]): Promise<ReadonlyMap<string, Conversation>> => {
    const missing = new Set(ids);
    const found = new Map<string, Conversation>();
    if (missing.size === 0) return found;
    const stop = new AbortController();
    const onEvent = ({ event }: { readonly event: ClawLoopEvent }) => {
      if (event.type !== 'interaction.completed' || !missing.delete(event.id)) return;
      const conversation = conversationOf(event.data);
      if (conversation !== undefined) found.set(event.id, conversation);
      if (missing.size === 0) stop.abort();
    };
    const lanes = new Set(ids.map(laneOfCompletion));
    const wants = ({ type, subject }: Heading) => type === 'interaction.completed' && lanes.has(subject);
    const following = log.follow('conversations', {}, onEvent, stop.signal, wants);
    const patience = delay(limitMs, undefined, { signal: stop.signal }).catch(() => {});
    await Promise.race([following.caughtUp.catch(() => {}), following.done, patience]);
    stop.abort();
    await following.done.catch(() => {});
    return found;
  };
  /** One look-up at a time: each may read the log from its beginning. */
  let before: Promise<unknown> = Promise.resolve();
  const known = (ids: readonly string[]) =>
    new Map(ids.flatMap((id) => (latest.has(id) ? [[id, latest.get(id)!] as const] : [])));
  const lookInTurn = (ids: readonly string[]): Promise<ReadonlyMap<string, Conversation>> => {
    const looked = before.then(async () => {
      const there = known(ids);
      return new Map([...there, ...(await look(ids.filter((id) => !there.has(id))))]);
    });
    before = looked.catch(() => {});
    return looked;
  };
  const find: Conversations['find'] = async (asked, keyId) => {
    const ids = asked.filter((id) => laneOfCompletion(id) !== undefined); // the others are none of ours
    const there = known(ids);
    const found = there.size === new Set(ids).size ? there : await lookInTurn(ids);
    const theirs = [...found].filter(([, conversation]) => conversation.keyId === keyId);
    for (const [id, conversation] of theirs) remember(id, conversation);
    return new Map(theirs.map(([id, { messages }]) => [id, messages]));
  };
  return { remember, find };
}

type Told = Extract<ClawLoopEvent, { readonly type: 'interaction.completed' }>['data'];

/** Undefined: the fact was too large to hold what was said. */
const conversationOf = ({ key, messages, answer, tooLarge }: Told): Conversation | undefined =>
  tooLarge === true ? undefined : { keyId: key, messages: [...withoutInstructions(messages), answer] };
