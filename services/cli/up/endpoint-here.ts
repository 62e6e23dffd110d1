import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { isAlive } from './is-alive.ts';
import { endpointOf } from './readiness.ts';
import { readRunning } from './running.ts';

/** The endpoint of the ClawLoop that runs on the data folder; otherwise the configured one. */
export function endpointHere(folder: string): string {
  const running = readRunning(dataFolder(folder).running);
  return running !== undefined && isAlive(running.supervisor) ? running.endpoint : endpointOf().url;
}
