import { portIsFree } from '../port-is-free.ts';
import type { healthHere } from '../up/health-here.ts';
import type { Finding } from './checks.ts';

/** ms to wait for an answer on an open connection */
const PATIENCE_MS = 3_000;

/** Whether the services with a health port are ready. */
export async function healthPorts({
  isRunning,
  urls,
}: ReturnType<typeof healthHere>): Promise<readonly Finding[]> {
  return Promise.all(
    Object.entries(urls).map(async ([service, url]): Promise<Finding> => {
      if (url === undefined)
        return { state: 'note', what: `${service} uses a random health port, so it was not checked` };
      const { port, hostname } = new URL(url);
      if (!isRunning && (await portIsFree(Number(port), hostname.replace(/[[\]]/g, ''))))
        return { state: 'note', what: `${service} is not running (port ${port} is free)` };
      const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) })
        .then(async (response) => (await response.json()) as { ready?: boolean; missing?: string })
        .catch(() => undefined);
      if (answer?.ready === true) return { state: 'ok', what: `${service} is ready at ${url}` };
      if (answer?.ready === false)
        return {
          state: 'bad',
          what: `${service} at ${url} is not ready: ${answer.missing ?? 'no reason given'}`,
        };
      return isRunning
        ? {
            state: 'bad',
            what: `${service} does not answer at ${url}`,
            advice: `see logs/${service}.log in the data folder`,
          }
        : {
            state: 'bad',
            what: `port ${port} is taken, but ${service} does not answer there`,
            advice: `choose another port with --${service}-health-port N`,
          };
    }),
  );
}
