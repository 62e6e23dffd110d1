import type { z } from 'zod';
import { CommonConfig, describeService } from '../../../shared/service/config.ts';
import { QueueConfig } from '../../../shared/service/queue-config.ts';
import { UsageError } from '../command.ts';
import { type ServiceName, serviceNames } from '../service-entry.ts';

export type RoutedFlags = {
  /** for every service: `--data-folder X` */
  readonly shared: readonly string[];
  readonly own: Readonly<Record<ServiceName, string[]>>;
  /** folder of the sessions that ended; undefined: they are not exported */
  readonly sessionsExport?: string;
};

/**
 * `--judge-votes 5` is the judge's `--votes 5`; `--port` and `--host` are serving's; what all services share
 * has no prefix; `--queue` and its kin are for those that have one.
 */
export function routeFlags(argv: readonly string[]): RoutedFlags {
  const shared: string[] = [];
  let sessionsExport: string | undefined;
  const own: Record<ServiceName, string[]> = { serving: [], collector: [], judge: [], trainer: [] };
  for (let index = 0; index < argv.length; index++) {
    const [flag = '', inline] = argv[index]!.split(/=(.*)/s);
    if (!flag.startsWith('--')) {
      const dashes = 'with npm, two dashes come before the flags: npm start -- --port 8700';
      throw new UsageError(`up takes no words, only flags: '${flag}'; ${dashes}`);
    }
    const next = argv[index + 1];
    const value = inline ?? (next !== undefined && !next.startsWith('--') ? argv[++index] : undefined);
    const service = serviceNames.find((name) => flag.startsWith(`--${name}-`));
    if (flag === '--sessions-export') {
      if (!value) throw new UsageError('--sessions-export takes a folder');
      sessionsExport = value;
    } else if (service !== undefined)
      own[service].push(named.has(flag) ? flag : `--${flag.slice(service.length + 3)}`, ...wordsOf(value));
    else if (ofServing.has(flag)) own.serving.push(flag, ...wordsOf(value));
    else if (ofQueues.has(flag)) for (const name of withQueue) own[name].push(flag, ...wordsOf(value));
    else if (ofAll.has(flag)) shared.push(flag, ...wordsOf(value));
    else
      throw new UsageError(
        `Unknown option '${flag}'. Flags of one service have its name before them (the judge's --votes is ` +
          '--judge-votes); docs/configuration.md has all of them',
      );
  }
  return { shared, own, ...(sessionsExport === undefined ? {} : { sessionsExport }) };
}

const flagsOf = (schema: unknown): ReadonlySet<string> =>
  new Set(describeService('cli', schema as z.ZodObject).map(({ flag }) => flag));

const ofAll = flagsOf(CommonConfig);

/** Flags that a person means for the endpoint. */
const ofServing: ReadonlySet<string> = new Set([
  '--port',
  '--host',
  '--context',
  '--system-budget',
  '--api-key',
  '--api-key-file',
]);

/** Flags that have the name of their service in them, where it runs alone too. */
const named: ReadonlySet<string> = new Set(['--judge-model']);

/** Flags of services that own a queue. */
const ofQueues = flagsOf(QueueConfig);
const withQueue = ['judge', 'trainer'] as const;

const wordsOf = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);
