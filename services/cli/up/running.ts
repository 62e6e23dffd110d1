import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { monotonicNow } from '../../../shared/service/clock.ts';
import type { HealthUrls } from './health-here.ts';
import { isAlive } from './is-alive.ts';

const Running = z.object({
  supervisor: z.int(),
  /** process id by service, while it runs */
  services: z.record(z.string(), z.int()),
  endpoint: z.string(),
  /** address of the health port by service, where it is told one */
  health: z.record(z.string(), z.string()).default({}),
});
/** What a `clawloop up` tells others about itself. */
export type Running = z.output<typeof Running>;
type Told = Pick<Running, 'supervisor' | 'services' | 'endpoint'> & { readonly health?: HealthUrls };

/** Whole or not at all, so that a reader never meets half of it; it need not outlive a power cut. */
export function writeRunning(path: string, running: Told): void {
  writeFileSync(`${path}.part`, JSON.stringify(running, null, 2));
  renameSync(`${path}.part`, path);
}

/** Undefined: nothing runs, or nothing that said so. */
export function readRunning(path: string): Running | undefined {
  try {
    return Running.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

const POLL_MS = 50;
/** ms; a service whose supervisor is gone has ended by then, its drain included */
const LONGEST_WAIT_MS = 12_000;

/**
 * Waits for the services of a supervisor that was killed: they end by themselves, and hold their ports until
 * then.
 */
export async function untilGone(services: Running['services'], onWait: () => void): Promise<void> {
  const started = monotonicNow();
  if (Object.values(services).some(isAlive)) onWait();
  while (Object.values(services).some(isAlive) && monotonicNow() - started < LONGEST_WAIT_MS)
    await delay(POLL_MS);
}
