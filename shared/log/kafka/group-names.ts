import { talking } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';

/** The groups that fold any topic of the log: those with a topic of rows. */
export async function groupNames({ connection }: Pick<KafkaStore, 'connection'>): Promise<readonly string[]> {
  const [before, after] = connection.rowsTopic('\u0000').split('\u0000') as [string, string];
  const names = await talking('listing topics', async () => {
    const admin = connection.kafka.admin();
    try {
      await admin.connect();
      return await admin.listTopics();
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  });
  // A deployment whose prefix begins with this one has a meta topic of its own.
  const [prefix] = connection.metaTopic.split(/meta$/) as [string];
  const others = names
    .filter((name) => name.startsWith(prefix) && name.endsWith('meta') && name !== connection.metaTopic)
    .map((name) => name.slice(0, -'meta'.length));
  return names
    .filter((name) => name.startsWith(before) && name.endsWith(after))
    .filter((name) => !others.some((other) => name.startsWith(other)))
    .map((name) => name.slice(before.length, -after.length));
}
