import { isLoopback } from '../service/is-loopback.ts';
import type { HubSettings } from './config.ts';
import { HubRefused } from './errors.ts';

const MOST_REDIRECTS = 10;

type Hub = Pick<HubSettings, 'url' | 'plainHttp'>;

/**
 * fetch as the hub is asked: by https, also where it redirects to or names as the next page. A hub elsewhere
 * leads nobody to this machine's own ports. The token goes to the hub alone.
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

/** @throws HubRefused where the address may be changed by others on its way, or is none of the hub's */
export function refuseAddress({ url, plainHttp }: Hub, address = addressOf(url)): void {
  const isHere = isThisMachine(address.hostname);
  const isHubHere = isThisMachine(addressOf(url).hostname);
  if (isHere && !isHubHere)
    throw new HubRefused(`the hub at ${url} leads to this machine: ${shown(address)}`);
  if (address.protocol === 'https:') return;
  if (address.protocol !== 'http:')
    throw new HubRefused(`${shown(address)} is no address of a hub: https is needed`);
  if (isHere || plainHttp) return;
  throw new HubRefused(
    `${shown(address)} is plain http: anyone on the way could change the model. Give an https address as ` +
      '--hub-url or HF_ENDPOINT, or allow it by --hub-plain-http',
  );
}

/** 0.0.0.0 is answered by this machine too. */
const isThisMachine = (host: string): boolean => isLoopback(host) || ['0.0.0.0', '[::]'].includes(host);

/** Without user info and query, which may hold a signature. */
const shown = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`;

function addressOf(address: string | URL, base?: URL): URL {
  try {
    return new URL(address, base);
  } catch {
    throw new HubRefused(`${String(address).slice(0, 200)} is no address of a hub`);
  }
}
