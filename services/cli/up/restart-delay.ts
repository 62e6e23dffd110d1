/** ms of uptime after which a crash counts as the first one again */
const HEALTHY_AFTER_MS = 60_000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/** Delay before a restart: half a second, doubled with each crash, up to half a minute. */
export function restartDelay(
  crashes: number,
  upForMs: number,
): { readonly ms: number; readonly healthy: boolean } {
  const healthy = upForMs >= HEALTHY_AFTER_MS;
  const exponent = healthy ? 0 : Math.max(0, crashes - 1);
  return { ms: Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** exponent), healthy };
}
