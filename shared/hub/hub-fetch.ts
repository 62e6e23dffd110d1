import { isLoopback } from '../runtime/is-loopback.ts';
import type { HubSettings } from './config.ts';
import { HubRefused } from './errors.ts';

const MOST_REDIRECTS = 10;

type Hub = Pick<HubSettings, 'url' | 'plainHttp'>;

/**
 * A fetch for the hub. It requires https, also for redirects and next pages. It does not follow a remote hub to
 * ports of this machine, and sends the token only to the hub.
 */
export const hubFetch =
  (hub: Hub, signal: AbortSignal): typeof fetch =>
  async (input, init) => {
    let address = addressOf(input instanceof Request ? input.url : input);
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      refuseAddress(hub, address);
      const headers = new Headers(init?.headers);
      if (address.origin !== addressOf(hub.url).origin) headers.delete('authorization');
      const response = await fetch(address, { ...init, headers, signal, redirect: 'manual' });
      const next = isRedirect(response.status) ? response.headers.get('location') : null;
      if (next === null) return response;
      await response.body?.cancel();
      address = addressOf(next, address);
    }
    throw new HubRefused(`${hub.url} redirects more than ${MOST_REDIRECTS} times`);
  };

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** @throws HubRefused when the address is plain http, or leads from a remote hub to this machine */
export function refuseAddress({ url, plainHttp }: Hub, address = addressOf(url)): void {
  const isHere = isThisMachine(address.hostname);
  const isHubHere = isThisMachine(addressOf(url).hostname);
  if (isHere && !isHubHere)
    throw new HubRefused(`the hub at ${url} leads to this machine: ${shown(address)}`);
  if (address.protocol === 'https:') return;
  if (address.protocol !== 'http:')
    throw new HubRefused(`${shown(address)} is not the address of a hub: https is needed`);
  if (isHere || plainHttp) return;
  throw new HubRefused(
    `${shown(address)} is plain http: anyone on the network path could change the model. Give an https ` +
      'address as --hub-url or HF_ENDPOINT, or allow plain http with --hub-plain-http',
  );
}

/** 0.0.0.0 also reaches this machine. */
const isThisMachine = (host: string): boolean => isLoopback(host) || ['0.0.0.0', '[::]'].includes(host);

/** Without user info and query, which may hold a signature. */
const shown = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`;

function addressOf(address: string | URL, base?: URL): URL {
  try {
    return new URL(address, base);
  } catch {
    throw new HubRefused(`${String(address).slice(0, 200)} is not the address of a hub`);
  }
}
