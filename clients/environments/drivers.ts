import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { EnvironmentDriver } from './environment.ts';
import { openEnvDriver } from './openenv/driver.ts';

/** How to write an environment on the command line. */
export const ENVIRONMENT_FORMS = 'openenv:http://HOST:PORT';

/** @throws UsageError for an unknown kind of environment, or an address that is no URL */
export function driverOf(specification: string, options: { readonly actLimitMs: number }): EnvironmentDriver {
  const [, kind, place = ''] = /^([a-z]+):(.*)$/.exec(specification) ?? [];
  if (kind !== 'openenv') throw new UsageError(`--env must be ${ENVIRONMENT_FORMS}, not '${specification}'`);
  if (!/^https?:$/.test(URL.parse(place)?.protocol ?? ''))
    throw new UsageError(`--env ${kind} needs an http address, not '${place}'`);
  return openEnvDriver({ url: place.replace(/\/+$/, ''), ...options });
}
