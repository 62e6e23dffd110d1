import { keyOf } from '../../../shared/config/configured-key.ts';
import { pause } from '../../../shared/lang/async.ts';
import { readAccessKeys } from '../../../shared/runtime/access-keys.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { endpointSettings } from '../config.ts';

export type Endpoint = {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly needsKey: boolean;
};

const POLL_MS = 100;
/** ms; a large model loads slowly from a cold disk */
const GIVE_UP_AFTER_MS = 10 * 60_000;

/** Where serving will listen, by the flags and variables that serving itself reads. */
export function endpointOf(servingFlags: readonly string[] = []): Endpoint {
  const { host, port, ...key } = endpointSettings(servingFlags);
  return { host, port, url: reachableUrl(host, port), needsKey: keyOf(key) !== undefined };
}

/** URL under which this machine reaches a server on `host`. */
export function reachableUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host;
  return `http://${reachable}:${port}`;
}

/** The endpoint, with `needsKey` set when the data folder has access keys. */
export async function withKeysOf(path: string, endpoint: Endpoint): Promise<Endpoint> {
  const keys = await readAccessKeys(path).catch(() => []); // serving refuses a malformed file
  return { ...endpoint, needsKey: endpoint.needsKey || keys.length > 0 };
}

/** ms; the address of the console is printed in any case */
const CONSOLE_LIMIT_MS = 1_000;

/** Resolves when the console answers, after a second, or when the signal aborts. */
export async function waitUntilListening(url: string, signal: AbortSignal): Promise<void> {
  const started = monotonicNow();
  while (!signal.aborted && monotonicNow() - started < CONSOLE_LIMIT_MS) {
    const answers = await fetch(`${url}/healthz`, { signal }).then(
      (response) => response.ok,
      () => false,
    );
    if (answers) return;
    await pause(POLL_MS, signal);
  }
}

/** Resolves when `/readyz` reports ready or the signal aborts. @throws Error after ten minutes */
export async function waitUntilReady(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  const started = monotonicNow();
  while (!signal.aborted) {
    const ready = await fetch(`${endpoint.url}/readyz`, { signal }).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) return;
    if (monotonicNow() - started > GIVE_UP_AFTER_MS)
      throw new Error(
        'serving did not become ready within ten minutes; see logs/serving.log in the data folder',
      );
    await pause(POLL_MS, signal);
  }
}
