import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { EnvironmentDriver } from './environment.ts';
import { mcpDriver } from './mcp/driver.ts';
import { miniWobDriver } from './miniwob/driver.ts';
import { openEnvDriver } from './openenv/driver.ts';
import { poolDriver } from './pool/driver.ts';

export type DriverSettings = {
  /** ms for one action */
  readonly actLimitMs: number;
  /** what a pool server offers: terminal, gui or swe */
  readonly poolKind?: string | undefined;
  /** path of the browser for web pages; undefined: the first on PATH */
  readonly browser: string | undefined;
};

type Kind = {
  /** how to write it on the command line */
  readonly form: string;
  /** @throws UsageError when the place is not of the expected form */
  readonly driver: (place: string, settings: DriverSettings) => EnvironmentDriver;
};

const kinds: Readonly<Record<string, Kind>> = {
  mcp: {
    form: 'mcp:SERVERS.json',
    driver: (path, settings) => mcpDriver({ path, ...settings }),
  },
  openenv: {
    form: 'openenv:http://HOST:PORT',
    driver: (place, settings) => openEnvDriver({ url: httpAddress('openenv', place), ...settings }),
  },
  pool: {
    form: 'pool:http://HOST:PORT',
    driver: (place, { actLimitMs, poolKind: kind }) =>
      poolDriver({ url: httpAddress('pool', place), kind, actLimitMs }),
  },
  miniwob: {
    form: 'miniwob:FOLDER_OF_PAGES',
    driver: (place, settings) => miniWobDriver({ place, ...settings }),
  },
};

/** How to write an environment on the command line. */
export const ENVIRONMENT_FORMS = Object.values(kinds)
  .map(({ form }) => form)
  .join(', ');

/** @throws UsageError for an unknown kind of environment, or a place that it cannot use */
export function driverOf(specification: string, settings: DriverSettings): EnvironmentDriver {
  const [, name = '', place = ''] = /^([a-z]+):(.*)$/s.exec(specification) ?? [];
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) throw new UsageError(`--env must be ${ENVIRONMENT_FORMS}, not '${specification}'`);
  return kind.driver(place, settings);
}

/** @throws UsageError */
function httpAddress(kind: string, place: string): string {
  if (!/^https?:$/.test(URL.parse(place)?.protocol ?? ''))
    throw new UsageError(`--env ${kind} needs an http address, not '${place}'`);
  return place.replace(/\/+$/, '');
}
