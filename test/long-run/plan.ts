import { createRandom } from '../chaos/histories/random.ts';
import { type Fault, serviceNames } from '../chaos/services/plan.ts';

export type Act =
  | { readonly kind: 'fault'; readonly fault: Fault }
  /** `clawloop trim --keep`, hours */
  | { readonly kind: 'trim'; readonly keepHours: number }
  | { readonly kind: 'backup' }
  /** Every service in turn, to the next release. */
  | { readonly kind: 'upgrade' };

export type PlannedAct = {
  /** Simulated hours since the start. */
  readonly at: number;
  readonly act: Act;
};

type Options = { readonly seed: number; readonly hours: number; readonly canFillDisk: boolean };

/** Faults per simulated hour; a short run has as many as a day. */
const FAULTS_PER_HOUR = 2 / 3;
const LEAST_FAULTS = 12;
const DAY = 24;
/** Real ms of a full disk. */
const FULL_MS = 3_000;

/** Hours between two trims, and two backups; a short run has four of each. */
export const houseworkHours = (hours: number): number => Math.min(6, hours / 4);
export const keepHours = (hours: number): number => Math.min(DAY, hours / 3);
/** Of 72 hours: 48. */
export const upgradeHour = (hours: number): number => (hours * 2) / 3;

/** The same seed gives the same acts at the same hours. */
export function planRun({ seed, hours, canFillDisk }: Options): readonly PlannedAct[] {
  const random = createRandom(seed);
  const every = houseworkHours(hours);
  const times = Array.from({ length: Math.floor(hours / every) }, (_, index) => (index + 1) * every);
  const housework = times.flatMap((at): readonly PlannedAct[] => [
    { at: at - every / 4, act: { kind: 'trim', keepHours: keepHours(hours) } },
    { at: at - every / 8, act: { kind: 'backup' } },
  ]);
  const count = Math.max(LEAST_FAULTS, Math.round(hours * FAULTS_PER_HOUR));
  // ends and kills take turns over all services; each seventh fault fills the disk
  const faults = Array.from({ length: count }, (_, index): PlannedAct => {
    const at = ((index + 0.2 + random.next() * 0.6) * hours) / count;
    const target = serviceNames[index % serviceNames.length]!;
    const replica = 0;
    if (canFillDisk && index % 7 === 3) return fault(at, { kind: 'disk-full', forMs: FULL_MS });
    return fault(
      at,
      index % 2 === 0
        ? { kind: 'restart', target }
        : { kind: 'kill', target, replica, downMs: 100 + random.int(2_000) },
    );
  });
  const upgrade: PlannedAct = { at: upgradeHour(hours), act: { kind: 'upgrade' } };
  return [...housework, ...faults, upgrade].sort((a, b) => a.at - b.at);
}

const fault = (at: number, one: Fault): PlannedAct => ({ at, act: { kind: 'fault', fault: one } });
