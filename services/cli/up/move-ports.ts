import { type HealthService, healthServices, healthSettings } from '../config.ts';
import type { RoutedFlags } from './route-flags.ts';

/** Default ports of serving and the services beside it. */
const SERVING = 8700;
const others: Readonly<Record<HealthService, number>> = { collector: 8701, judge: 8702, trainer: 8703 };
const CONSOLE = 8704;
const LAST_PORT = 65_535;

/**
 * Moves the other ports along with serving's, so that `--port` alone starts a second ClawLoop on a machine. Ports that
 * have a setting of their own stay.
 *
 * @param port of serving
 * @param consolePort as configured
 */
export function movePorts(
  { shared, byService }: Pick<RoutedFlags, 'shared' | 'byService'>,
  port: number,
  consolePort: number,
): void {
  const by = port - SERVING;
  if (port === 0 || by === 0 || CONSOLE + by > LAST_PORT) return;
  for (const name of healthServices) {
    const { healthPort } = healthSettings(name, [...shared, ...byService[name]]);
    // in front, so that a flag of the service wins
    if (healthPort === others[name]) byService[name].unshift('--health-port', String(healthPort + by));
  }
  if (consolePort === CONSOLE) byService.console.unshift('--port', String(CONSOLE + by));
}
