import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { EnvironmentDriver } from './environment.ts';
import type { ContainerTool } from './harbor/container-tool.ts';
import { harborDriver } from './harbor/driver.ts';
import { openEnvDriver } from './openenv/driver.ts';

export type DriverSettings = {
  /** ms for one action */
  readonly actLimitMs: number;
  readonly containers: ContainerSettings;
};

/** For environments in containers. */
export type ContainerSettings = {
  /** undefined: the one that is installed */
  readonly tool: ContainerTool | undefined;
  /** attempts with a container at once */
  readonly environments: number;
  /** whether a task that asks for a network gets one */
  readonly withNetwork: boolean;
};

type Kind = {
  /** how to write it on the command line */
  readonly form: string;
  /** agent unless --agent names another */
  readonly agent: 'tools' | 'bash';
  /** @throws UsageError when the place is not of the expected form */
  readonly driver: (place: string, settings: DriverSettings) => EnvironmentDriver;
};

const kinds: Readonly<Record<string, Kind>> = {
  openenv: {
    form: 'openenv:http://HOST:PORT',
    agent: 'tools',
    driver: (place, settings) => openEnvDriver({ url: httpAddress('openenv', place), ...settings }),
  },
  harbor: {
    form: 'harbor:FOLDER',
    agent: 'bash',
    driver: (place, { actLimitMs, containers }) => harborDriver({ place, actLimitMs, ...containers }),
  },
};

/** How to write an environment on the command line. */
export const ENVIRONMENT_FORMS = Object.values(kinds)
  .map(({ form }) => form)
  .join(', ');

/** @throws UsageError for an unknown kind of environment, or a place that it cannot use */
export function driverOf(specification: string, settings: DriverSettings): EnvironmentDriver {
  const { kind, place } = kindOf(specification);
  return kind.driver(place, settings);
}

/** The agent of a rollout in this environment. @throws UsageError */
export const defaultAgentOf = (specification: string): 'tools' | 'bash' => kindOf(specification).kind.agent;

/** @throws UsageError */
function kindOf(specification: string): { readonly kind: Kind; readonly place: string } {
  const [, name = '', place = ''] = /^([a-z]+):(.*)$/s.exec(specification) ?? [];
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) throw new UsageError(`--env must be ${ENVIRONMENT_FORMS}, not '${specification}'`);
  return { kind, place };
}

/** @throws UsageError */
function httpAddress(kind: string, place: string): string {
  if (!/^https?:$/.test(URL.parse(place)?.protocol ?? ''))
    throw new UsageError(`--env ${kind} needs an http address, not '${place}'`);
  return place.replace(/\/+$/, '');
}
