import { setTimeout as delay } from 'node:timers/promises';
import { readAccessKeys } from '../../../shared/service/access-keys.ts';
import { monotonicNow } from '../../../shared/service/clock.ts';
import { keyOf } from '../../../shared/service/configured-key.ts';
import { endpointSettings } from '../config.ts';

export type Endpoint = {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly needsKey: boolean;
};

const POLL_MS = 100;
/** ms; loading a large model from a cold disk takes a while */
const GIVE_UP_AFTER_MS = 10 * 60_000;

/** Where serving will listen, from the flags and variables that it will read itself. */
export function endpointOf(servingFlags: readonly string[] = []): Endpoint {
  const { host, port, ...key } = endpointSettings(servingFlags);
  return { host, port, url: reachableUrl(host, port), needsKey: keyOf(key) !== undefined };
}

/** Where this machine reaches what listens there. */
export function reachableUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host;
  return `http://${reachable}:${port}`;
}

/** The same once it is known whether there are keys in the data folder: from the first one on one is needed. */
export async function withKeysOf(path: string, endpoint: Endpoint): Promise<Endpoint> {
  const keys = await readAccessKeys(path).catch(() => []); // a malformed file is serving's to refuse
  return { ...endpoint, needsKey: endpoint.needsKey || keys.length > 0 };
}

/** Resolves once `/readyz` says so, or when the signal aborts. @throws after ten minutes */
export async function waitUntilReady(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  const started = monotonicNow();
  while (!signal.aborted) {
    const ready = await fetch(`${endpoint.url}/readyz`, { signal }).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    if (monotonicNow() - started > GIVE_UP_AFTER_MS)
      throw new Error(`serving is not ready after ten minutes`);
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
  }
}
