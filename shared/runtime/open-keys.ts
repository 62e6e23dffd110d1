import type { LogConfig } from '../config/log.ts';
import { aborted } from '../lang/async.ts';
import { type AccessKey, newAccessKey } from './access-keys.ts';
import { utcNow } from './clock.ts';
import type { DataFolder } from './data-folder.ts';
import { entriesOfRemoval, entryOfKey } from './key-entries.ts';
import { type KeyList, type KeyStore, openFileKeys } from './key-store.ts';
import type { Logger } from './logger.ts';
import type { WaitOptions } from './open-log.ts';
import { Refusal } from './refusal.ts';
import { entryOfReset } from './secret-entries.ts';
import { openSharedKeys, type SharedKeys } from './shared-keys.ts';
import { createWaitNotice } from './wait-notice.ts';

type Closed = { readonly close: () => Promise<void> };

export type CommandKeys = KeyStore &
  Closed & {
    /** The next serving that starts decides which secret all of them use; undefined: the data folder has the secret. */
    readonly resetSecret: (() => Promise<void>) | undefined;
  };

/**
 * The access keys for a command, in a file of the data folder or, with Kafka, in a topic that every host reads.
 * @throws LogUnavailable, LogMismatch, LogRefused; Refusal when the file is damaged
 */
export async function openKeys(
  config: LogConfig,
  data: DataFolder,
  onMoved: (text: string) => void,
): Promise<CommandKeys> {
  if (config.log === 'sqlite')
    return { ...openFileKeys(data.keys), resetSecret: undefined, close: async () => {} };
  const shared = await openOrClose(await openSharedKeys(config, data, {}), onMoved);
  /** The change is durable: without the copy here, a service here writes it. */
  const afterChange = async () => {
    await shared.reachEnd();
    await shared.copy().catch(() => undefined);
  };
  return {
    list: async () => shared.list(),
    create: async (name, rules) => {
      const { key, secret } = newAccessKey(name, rules);
      await shared.put([entryOfKey(key)]);
      await afterChange().catch(() => undefined); // the secret must still be shown
      return { id: key.id, secret };
    },
    remove: async (id) => {
      if (!shared.list().some((key) => key.id === id)) return false;
      await shared.put(entriesOfRemoval(id, utcNow()));
      await afterChange();
      return true;
    },
    resetSecret: () => shared.put([entryOfReset()]),
    place: shared.place,
    close: shared.close,
  };
}

export type FollowedKeys = KeyList &
  Closed & {
    /** Resolves after the signal aborts. */
    readonly done: Promise<void>;
  };

type FollowOptions = {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** of the secret with which this service signs; other services must sign with the same */
  readonly fingerprint?: string;
};

/**
 * The access keys for a service, which learns of every change. Waits for the brokers.
 * @throws like `openKeys`; Refusal when other services sign with another secret
 */
export async function followKeys(
  config: LogConfig,
  data: DataFolder,
  { logger, signal, fingerprint }: FollowOptions,
): Promise<FollowedKeys> {
  if (config.log === 'sqlite')
    return { list: openFileKeys(data.keys).list, done: aborted(signal), close: async () => {} };
  const waiting: WaitOptions = {
    onWaiting: (place, reason, seconds) => logger.warn({ reason, seconds }, `waiting for ${place}`),
    signal,
  };
  const opened = await openSharedKeys(config, data, waiting);
  const shared = await openOrClose(opened, (text) => logger.info(text));
  if (fingerprint !== undefined) await requireAgreement(shared, fingerprint);
  let isOld = false;
  const compareSecret = () => {
    const wasOld = isOld;
    isOld = fingerprint !== undefined && (shared.fingerprint() ?? fingerprint) !== fingerprint;
    if (isOld && !wasOld)
      logger.error('other servings sign with a new session secret: restart this one with the same');
  };
  const notice = createWaitNotice({
    away: (reason, seconds) =>
      logger.warn({ reason, seconds }, 'cannot read the access keys; the last known keys stay in force'),
    back: (seconds) => logger.info({ seconds }, 'the access keys can be read again'),
  });
  const copy = () =>
    shared.copy().catch((error: unknown) => {
      logger.warn(
        { err: error },
        `cannot copy the access keys to ${data.keys}; will retry after the next change`,
      );
    });
  const onRound = () => {
    compareSecret();
    return copy();
  };
  const done = shared.follow({ onRound, onAway: notice.away, onBack: notice.back, signal });
  return { list: async () => shared.list(), done, close: shared.close };
}

/** Reads the shared keys, adds those of this host, and writes the copy. */
async function openOrClose(shared: SharedKeys, onMoved: (text: string) => void): Promise<SharedKeys> {
  try {
    await shared.reachEnd();
    const moved = await shared.addOwn();
    if (moved.length > 0) onMoved(movedText(moved, shared));
    await shared.copy();
    return shared;
  } catch (error) {
    await shared.close();
    throw error;
  }
}

async function requireAgreement(shared: SharedKeys, fingerprint: string): Promise<void> {
  try {
    if ((await shared.setFingerprint(fingerprint)) === fingerprint) return;
  } catch (error) {
    await shared.close();
    throw error;
  }
  await shared.close();
  throw new Refusal(
    'other servings of this log sign session keys and ids of answers with another secret: give all servings the same ' +
      'CLAWLOOP_SERVING_SESSION_SECRET. If this secret is to replace theirs, run `clawloop keys reset-secret`, then ' +
      'start this serving and restart the others with its secret',
  );
}

const movedText = (keys: readonly AccessKey[], { file, place }: SharedKeys): string =>
  `moved ${keys.length} access ${keys.length === 1 ? 'key' : 'keys'} of ${file} to ${place}, for all hosts: ` +
  keys.map(({ id }) => id).join(', ');
