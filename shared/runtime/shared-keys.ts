import { existsSync } from 'node:fs';
import type { LogConfig } from '../config/log.ts';
import type { Register } from '../log/kafka/open-register.ts';
import { type AccessKey, changeAccessKeys, readAccessKeys } from './access-keys.ts';
import type { DataFolder } from './data-folder.ts';
import { createKeyEntries, entryOfKey } from './key-entries.ts';
import { kafkaConnection, placeOfLog, untilOpen, type WaitOptions } from './open-log.ts';
import { createSecretEntries, entryOfFingerprint } from './secret-entries.ts';

/**
 * The access keys of all hosts, in a topic of Kafka. The file of the data folder holds a copy: for a service of an
 * earlier release beside this one, and for the case that the topic is lost.
 */
export type SharedKeys = Register & {
  readonly list: () => readonly AccessKey[];
  /** Adds the keys of the file that no host has or has removed, and returns them. @throws Refusal when it is damaged */
  readonly addOwn: () => Promise<readonly AccessKey[]>;
  /** The fingerprint of the secret of all servings; undefined: no serving has started yet. */
  readonly fingerprint: () => string | undefined;
  /** Sets the fingerprint if there is none; resolves to the one that counts. */
  readonly setFingerprint: (fingerprint: string) => Promise<string | undefined>;
  /** Writes the copy, if the data folder exists and the keys have changed. */
  readonly copy: () => Promise<void>;
  readonly file: string;
  readonly place: string;
};

/** @throws LogUnavailable, LogMismatch, LogRefused */
export async function openSharedKeys(
  config: LogConfig,
  data: DataFolder,
  waiting: WaitOptions,
): Promise<SharedKeys> {
  // imported here, so that setups without Kafka do not load its client
  const { connectTo } = await import('../log/kafka/connection.ts');
  const { planKeysTopic } = await import('../log/kafka/create-topics.ts');
  const { brokerRefusal } = await import('../log/kafka/broker-refusal.ts');
  const { openRegister } = await import('../log/kafka/open-register.ts');
  const connection = connectTo(await kafkaConnection(config));
  const entries = createKeyEntries();
  const secret = createSecretEntries();
  const cluster = placeOfLog(config, data);
  const register = await untilOpen(
    {
      open: () =>
        openRegister(connection, {
          plan: planKeysTopic(connection),
          onEntry: (entry) => {
            entries.apply(entry);
            secret.apply(entry);
          },
        }),
      refusalOf: brokerRefusal,
      place: cluster,
    },
    waiting,
  );
  return {
    ...register,
    list: entries.list,
    addOwn: async () => {
      const own = (await readAccessKeys(data.keys)).filter(({ id }) => !entries.knows(id));
      if (own.length === 0) return own;
      await register.put(own.map(entryOfKey));
      await register.reachEnd();
      return own;
    },
    fingerprint: secret.current,
    setFingerprint: async (fingerprint) => {
      if (secret.current() !== undefined) return secret.current();
      await register.put([entryOfFingerprint(fingerprint)]);
      await register.reachEnd();
      return secret.current();
    },
    copy: async () => {
      if (!existsSync(data.root)) return;
      await changeAccessKeys(data.keys, (before) => {
        const keys = entries.list();
        return JSON.stringify(keys) === JSON.stringify(before) ? before : keys;
      });
    },
    file: data.keys,
    place: `the topic ${connection.keysTopic} of ${cluster}`,
  };
}
