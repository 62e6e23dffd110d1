import { pause, unlessAborted } from '../../lang/async.ts';
import { logError } from '../errors.ts';
import type { KafkaConnection } from './connection.ts';

type Options = {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  readonly topic: string;
  readonly sessionTimeoutMs: number;
  /** Receives all partitions of this member; it must give up all others. */
  readonly onAssigned: (partitions: readonly number[]) => void;
  /** Joining failed or the membership was lost; it is retried. */
  readonly onTrouble: (error: Error) => void;
};

export type Membership = {
  /** Resolves when the coordinator next confirms that this process is a member of the group. */
  readonly confirmed: () => Promise<void>;
  /** Leaves the group, so that other members take over immediately. */
  readonly close: () => Promise<void>;
};

/**
 * Only the membership: the kafkajs consumer joins and sends heartbeats with all partitions paused, so the work
 * may take any time without delaying a rebalance. The transactional id decides whether this member really owns a
 * partition. kafkajs stops a consumer after some failures (CRASH); this function then creates a new consumer.
 */
export function joinGroup({ connection, groupId, topic, sessionTimeoutMs, ...on }: Options): Membership {
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  const confirm = () => {
    for (const listener of [...listeners]) listener();
    listeners.clear();
  };
  // Several heartbeats fit into a session timeout; a member learns of a rebalance with its next heartbeat.
  const heartbeatMs = Math.max(100, Math.min(1_000, Math.floor(sessionTimeoutMs / 10)));

  const beMember = async (): Promise<void> => {
    const over = Promise.withResolvers<void>();
    const consumer = connection.kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatMs,
      // The interval at which the consumer checks whether a heartbeat is due; nothing is fetched.
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
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() });
      await unlessAborted(over.promise, closing.signal, () => {});
    } finally {
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
