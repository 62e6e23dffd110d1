import type { EventLog } from '../../shared/log/event-log.ts';
import { CommonConfig } from '../../shared/service/config.ts';
import { UsageError } from './command.ts';
import { readTopic } from './read-topic.ts';

type Told = { readonly adapters?: readonly string[] | undefined };

/** The adapters that a command is about: those that it was told, else all that the log knows. */
export async function adaptersOf(log: EventLog, { adapters }: Told): Promise<readonly string[]> {
  if (adapters !== undefined) return adapters;
  const known = new Set<string>();
  await readTopic(log, 'training', ({ event }) => known.add(event.subject));
  return known.size === 0 ? CommonConfig.shape.adapters.parse(undefined) : [...known].sort();
}

/** The one that a command is about. @throws UsageError where it may be several */
export async function oneAdapter(log: EventLog, told: Told): Promise<string> {
  const adapters = await adaptersOf(log, told);
  if (adapters.length > 1)
    throw new UsageError(`of which adapter? --adapters NAME, one of: ${adapters.join(', ')}`);
  return adapters[0]!;
}
