import { isIP } from 'node:net';

/** Whether an address to listen on, or the name in a Host header, stays on this machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (isIP(name) === 4) return name.startsWith('127.');
  if (isIP(name) === 6) return name === '::1' || name.startsWith('::ffff:127.');
  return name === 'localhost' || name.endsWith('.localhost');
}

/** The name in a Host header, without the port. Only old local programs send none. */
export const hostName = (host: string | undefined): string => (host ?? 'localhost').replace(/:\d+$/, '');
