import { logError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { KafkaConnection } from './connection.ts';

type Options = {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  readonly topic: string;
  readonly sessionTimeoutMs: number;
  /** Which partitions are this member's from now on; what it had besides, it gives up. */
  readonly onAssigned: (partitions: readonly number[]) => void;
  /** It is no member; it tries again. */
  readonly onTrouble: (error: Error) => void;
};

export type Membership = {
  /** Resolves at the next word of the coordinator that this member still belongs to the group. */
  readonly confirmed: () => Promise<void>;
  /** Leaves, so that the others take over at once. */
  readonly close: () => Promise<void>;
};

/**
 * Membership alone: kafkajs' consumer joins and sends heartbeats, with all partitions paused, so that work of
 * any length goes on beside it and a rebalance waits for nobody. Whether a partition is really this member's
 * is decided by its transactional id. kafkajs gives a consumer up after some failures (CRASH): then another
 * is made.
 */
export function joinGroup({ connection, groupId, topic, sessionTimeoutMs, ...on }: Options): Membership {
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  const confirm = () => {
    for (const listener of [...listeners]) listener();
    listeners.clear();
  };
  // Several are sent within a session, and a member that leaves or comes is heard of within one.
  const heartbeatMs = Math.max(100, Math.min(1_000, Math.floor(sessionTimeoutMs / 10)));

  const beMember = async (): Promise<void> => {
    const over = Promise.withResolvers<void>();
    const consumer = connection.kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatMs,
      // How long it rests between looking whether a heartbeat is due: nothing is fetched.
      maxWaitTimeInMs: Math.ceil(heartbeatMs / 2),
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 3, restartOnFailure: async () => false },
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      consumer.pause([{ topic }]);
      if (closing.signal.aborted) return;
      on.onAssigned(payload.memberAssignment[topic] ?? []);
      confirm();
    });
    consumer.on(consumer.events.HEARTBEAT, confirm);
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      on.onTrouble(payload.error);
      over.resolve();
    });
    const stop = () => over.resolve();
    closing.signal.addEventListener('abort', stop);
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() });
      if (!closing.signal.aborted) await over.promise;
    } finally {
      closing.signal.removeEventListener('abort', stop);
      await consumer.disconnect().catch(() => undefined);
    }
  };

  const running = (async () => {
    while (!closing.signal.aborted) {
      await beMember().catch((error: Error) => {
        if (!closing.signal.aborted) on.onTrouble(error);
      });
      await pause(250, closing.signal);
    }
  })();

  return {
    confirmed: () => {
      if (closing.signal.aborted) return Promise.reject(logError('LogUnavailable', 'left the group'));
      return new Promise((resolve) => listeners.add(resolve));
    },
    close: async () => {
      closing.abort();
      confirm();
      await running;
    },
  };
}
