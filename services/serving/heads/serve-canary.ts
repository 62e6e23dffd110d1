import { hash } from 'node:crypto';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Engine } from '../generation.ts';
import type { AdapterHead, ServedCanary } from './head-view.ts';

export type CanaryChoice = {
  /** The name under which the engine serves the candidate to this session; undefined: the head answers it. */
  readonly aliasFor: (session: string) => string | undefined;
};

type Options = {
  readonly view: Pick<AdapterHead, 'onCanary'>;
  readonly engine: Pick<Engine, 'serve'>;
  readonly adapter: string;
  readonly logger: Logger;
};

/** Is not aborted. */
const never = new AbortController().signal;

/** No name of an adapter has this character. */
const aliasOf = (adapter: string): string => `${adapter}\ncanary`;

/**
 * Keeps the candidate that is on canary in the engine beside the head. A session meets it only once it is loaded;
 * if it cannot be loaded, the head answers everybody, and no request fails.
 */
export function serveCanary({ view, engine, adapter, logger }: Options): CanaryChoice {
  let loading: AbortController | undefined;
  let ready: ServedCanary | undefined;
  let isServed = false;
  view.onCanary((canary) => {
    loading?.abort();
    loading = undefined;
    ready = undefined;
    if (canary === undefined) {
      // The base is in memory in any case, so this frees the candidate. The head answers requests that still wait for it.
      if (isServed) engine.serve(aliasOf(adapter), { version: 0 }, never).catch(() => {});
      isServed = false;
      return;
    }
    isServed = true;
    const stop = new AbortController();
    loading = stop;
    const { version } = canary.policy;
    const began = monotonicNow();
    engine.serve(aliasOf(adapter), canary.policy, stop.signal).then(
      () => {
        if (stop.signal.aborted) return;
        ready = canary;
        const milliseconds = monotonicNow() - began;
        logger.info({ adapter, version, share: canary.share, milliseconds }, 'serving a canary');
      },
      (error: unknown) => {
        if (!stop.signal.aborted)
          logger.error(
            { err: error, adapter, version },
            'could not load the canary; the head answers everybody',
          );
      },
    );
  });
  return {
    aliasFor: (session) => (ready !== undefined && isChosen(session, ready) ? aliasOf(adapter) : undefined),
  };
}

/** The same sessions in every replica, and other sessions for each candidate. */
export function isChosen(session: string, { policy, share }: ServedCanary): boolean {
  const digest = hash('sha256', JSON.stringify([policy.version, session]), 'buffer');
  return digest.readUInt32BE(0) / 2 ** 32 < share;
}

/**
 * The same for all requests of a conversation, in every replica: its named session, which its lane contains, or else
 * the first message of the person, which stays while the history grows.
 */
export function conversationName(
  lane: string,
  session: string | undefined,
  messages: readonly Pick<ChatMessage, 'role' | 'content'>[],
): string {
  const first = session === undefined ? messages.find(({ role }) => role === 'user') : undefined;
  return JSON.stringify([lane, first?.content]);
}
