import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import type { HealthService } from '../config.ts';
import { isAlive } from './is-alive.ts';

/** Address of each health port; undefined: the port is not known in advance (0: any free port). */
export type HealthUrls = Readonly<Partial<Record<HealthService, string | undefined>>>;

const Running = z.object({
  supervisor: z.int(),
  /** process id by service, while it runs */
  services: z.record(z.string(), z.int()),
  endpoint: z.string(),
  /** address of the health port by service, where it is known */
  health: z.record(z.string(), z.string()).default({}),
});
/** What `clawloop up` records about itself for other commands. */
export type Running = z.output<typeof Running>;
type NewRunning = Pick<Running, 'supervisor' | 'services' | 'endpoint'> & { readonly health?: HealthUrls };

/** Atomic, so that no reader sees half a file. It need not survive a power cut. */
export function writeRunning(path: string, running: NewRunning): void {
  writeFileSync(`${path}.part`, JSON.stringify(running, null, 2));
  renameSync(`${path}.part`, path);
}

/** Undefined: nothing runs, or the file cannot be read. */
export function readRunning(path: string): Running | undefined {
  try {
    return Running.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

const POLL_MS = 50;
/** ms; a service ends within this time after its supervisor is gone, including its drain */
const LONGEST_WAIT_MS = 12_000;

/** Waits for the services of a killed supervisor: they end by themselves and hold their ports until then. */
export async function untilGone(services: Running['services'], onWait: () => void): Promise<void> {
  const started = monotonicNow();
  if (Object.values(services).some(isAlive)) onWait();
  while (Object.values(services).some(isAlive) && monotonicNow() - started < LONGEST_WAIT_MS)
    await delay(POLL_MS);
}
