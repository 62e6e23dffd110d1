import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { type HealthService, healthServices, healthSettings } from '../config.ts';
import { isAlive } from './is-alive.ts';
import { reachableUrl } from './readiness.ts';
import { type HealthUrls, readRunning } from './running.ts';

/** @param flagsOf the flags that a service starts with */
export function healthOf(flagsOf: (name: HealthService) => readonly string[]): HealthUrls {
  return Object.fromEntries(
    healthServices.map((name) => {
      const { healthHost, healthPort } = healthSettings(name, flagsOf(name));
      return [name, healthPort === 0 ? undefined : reachableUrl(healthHost, healthPort)];
    }),
  );
}

/** Health ports of the services that run on the data folder; otherwise those that the settings name. */
export function healthHere(folder: string): { readonly isRunning: boolean; readonly urls: HealthUrls } {
  const running = readRunning(dataFolder(folder).running);
  if (running === undefined || !isAlive(running.supervisor))
    return { isRunning: false, urls: healthOf(() => []) };
  return {
    isRunning: true,
    urls: Object.fromEntries(healthServices.map((name) => [name, running.health[name]])),
  };
}
