import { dataFolder } from '../../../shared/service/data-folder.ts';
import { isAlive } from './is-alive.ts';
import { endpointOf } from './readiness.ts';
import { readRunning } from './running.ts';

/** Where the ClawLoop that runs on the data folder says that it listens, else where the settings have it. */
export function endpointHere(folder: string): string {
  const running = readRunning(dataFolder(folder).running);
  return running !== undefined && isAlive(running.supervisor) ? running.endpoint : endpointOf().url;
}
