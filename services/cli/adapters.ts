import { CommonConfig } from '../../shared/config/common.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { readPolicies } from './policies.ts';

type Selection = { readonly adapters?: readonly string[] | undefined; readonly dataFolder: string };

/** The adapters that a command shows: the selected ones, by default all in the log. */
export async function adaptersOf(log: EventLog, selection: Selection): Promise<readonly string[]> {
  return selection.adapters ?? orDefault(await adaptersIn(log, selection));
}

/**
 * The selected adapters for a command that changes something: it rejects a misspelt name.
 * @throws UsageError when the log has adapters, but not a selected one
 */
export async function adaptersToChange(log: EventLog, selection: Selection): Promise<readonly string[]> {
  const { adapters } = selection;
  const known = await adaptersIn(log, selection);
  const unknown = known.length === 0 ? undefined : adapters?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`the log has no adapter '${unknown}'; it has: ${known.join(', ')}`);
  return adapters ?? orDefault(known);
}

/** The only adapter that a command applies to. @throws UsageError as above, and when there are several */
export async function oneAdapter(log: EventLog, selection: Selection): Promise<string> {
  const adapters = await adaptersToChange(log, selection);
  if (adapters.length > 1)
    throw new UsageError(`which adapter? give --adapters NAME, one of: ${adapters.join(', ')}`);
  return adapters[0]!;
}

const adaptersIn = async (log: EventLog, selection: Selection): Promise<readonly string[]> =>
  [...(await readPolicies(log, selection)).keys()].sort();

const orDefault = (known: readonly string[]): readonly string[] =>
  known.length === 0 ? CommonConfig.shape.adapters.parse(undefined) : known;
