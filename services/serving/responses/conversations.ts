import { setTimeout as delay } from 'node:timers/promises';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { laneOfCompletion } from '../chat/lane.ts';
import { withoutInstructions } from './chat-messages.ts';

/** What was said up to an answer and with it, without the instructions of its request. */
export type Conversation = { readonly keyId: string; readonly messages: readonly ChatMessage[] };

export type Conversations = {
  readonly remember: (responseId: string, conversation: Conversation) => void;
  /** Undefined: no answer of this id was given to this key, or it is not found in time. */
  readonly find: (responseId: string, keyId: string) => Promise<readonly ChatMessage[] | undefined>;
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
  const look = async (id: string): Promise<Conversation | undefined> => {
    const stop = new AbortController();
    let found: Conversation | undefined;
    const onEvent = ({ event }: { readonly event: ClawLoopEvent }) => {
      if (event.id !== id || event.type !== 'interaction.completed') return;
      found = conversationOf(event.data);
      stop.abort();
    };
    const following = log.follow('conversations', {}, onEvent, stop.signal);
    const patience = delay(limitMs, undefined, { signal: stop.signal }).catch(() => {});
    await Promise.race([following.caughtUp.catch(() => {}), following.done, patience]);
    stop.abort();
    await following.done.catch(() => {});
    return found;
  };
  /** One look-up at a time: each may read the log from its beginning. */
  let before: Promise<unknown> = Promise.resolve();
  const lookInTurn = (id: string): Promise<Conversation | undefined> => {
    const looked = before.then(() => latest.get(id) ?? look(id));
    before = looked.catch(() => {});
    return looked;
  };
  return {
    remember,
    find: async (id, keyId) => {
      if (laneOfCompletion(id) === undefined) return undefined; // no id of ours
      const conversation = latest.get(id) ?? (await lookInTurn(id));
      if (conversation?.keyId !== keyId) return undefined;
      remember(id, conversation);
      return conversation.messages;
    },
  };
}

type Told = Extract<ClawLoopEvent, { readonly type: 'interaction.completed' }>['data'];

/** Undefined: the fact was too large to hold what was said. */
const conversationOf = ({ key, messages, answer, tooLarge }: Told): Conversation | undefined =>
  tooLarge === true ? undefined : { keyId: key, messages: [...withoutInstructions(messages), answer] };
