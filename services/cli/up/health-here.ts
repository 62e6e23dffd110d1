import { dataFolder } from '../../../shared/service/data-folder.ts';
import { healthSettings } from '../config.ts';
import { type ServiceName, serviceNames } from '../service-entry.ts';
import { isAlive } from './is-alive.ts';
import { reachableUrl } from './readiness.ts';
import { readRunning } from './running.ts';

/** Address of the health port by service; undefined: it takes any free port. Serving tells it at its endpoint. */
export type HealthUrls = Readonly<Partial<Record<ServiceName, string | undefined>>>;

const defaultPorts: Readonly<Partial<Record<ServiceName, number>>> = {
  ...{ collector: 8701, judge: 8702, trainer: 8703 },
};
const withHealthPort = serviceNames.filter((name) => name in defaultPorts);

/** @param flagsOf what a service is started with */
export function healthOf(flagsOf: (name: ServiceName) => readonly string[]): HealthUrls {
  return Object.fromEntries(
    withHealthPort.map((name) => {
      const { healthHost, healthPort = defaultPorts[name]! } = healthSettings(name, flagsOf(name));
      return [name, healthPort === 0 ? undefined : reachableUrl(healthHost, healthPort)];
    }),
  );
}

/** Of the ClawLoop that runs on the data folder, else as the settings have it. */
export function healthHere(folder: string): { readonly isRunning: boolean; readonly urls: HealthUrls } {
  const running = readRunning(dataFolder(folder).running);
  if (running === undefined || !isAlive(running.supervisor))
    return { isRunning: false, urls: healthOf(() => []) };
  return {
    isRunning: true,
    urls: Object.fromEntries(withHealthPort.map((name) => [name, running.health[name]])),
  };
}
