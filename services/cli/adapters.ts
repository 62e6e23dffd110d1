import type { EventLog } from '../../shared/log/event-log.ts';
import { CommonConfig } from '../../shared/service/config.ts';
import { UsageError } from './command.ts';
import { readTopic } from './read-topic.ts';

type Told = { readonly adapters?: readonly string[] | undefined };

/** The adapters that a command shows: those that it was told, else all that the log knows. */
export async function adaptersOf(log: EventLog, { adapters }: Told): Promise<readonly string[]> {
  return adapters ?? orDefault(await knownTo(log));
}

/**
 * The same for a command that changes something, which no name that is misspelt should.
 * @throws UsageError where the log knows others, and not one that it was told
 */
export async function adaptersToChange(log: EventLog, { adapters }: Told): Promise<readonly string[]> {
  const known = await knownTo(log);
  const strange = known.length === 0 ? undefined : adapters?.find((name) => !known.includes(name));
  if (strange !== undefined)
    throw new UsageError(`the log knows no adapter '${strange}'; it knows: ${known.join(', ')}`);
  return adapters ?? orDefault(known);
}

/** The one that a command is about. @throws UsageError as above, and where it may be several */
export async function oneAdapter(log: EventLog, told: Told): Promise<string> {
  const adapters = await adaptersToChange(log, told);
  if (adapters.length > 1)
    throw new UsageError(`of which adapter? --adapters NAME, one of: ${adapters.join(', ')}`);
  return adapters[0]!;
}

async function knownTo(log: EventLog): Promise<readonly string[]> {
  const known = new Set<string>();
  await readTopic(log, 'training', ({ event }) => known.add(event.subject));
  return [...known].sort();
}

const orDefault = (known: readonly string[]): readonly string[] =>
  known.length === 0 ? CommonConfig.shape.adapters.parse(undefined) : known;
