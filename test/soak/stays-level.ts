import { expect } from 'vitest';
import { type Reading, runSoak } from './run-soak.ts';
import { growthOf } from './trend.ts';

/**
 * Level: what must not grow over the second half of the run, when the versions that serving keeps, its caches
 * and the optimizer's moments are all there, and most lengths were seen. Tensors do not grow at all. Buffers
 * that JavaScript holds grow by less than 8 MiB along the median slope: an adapter of claw-nano with its
 * moments, kept at each step, would be 25. The memory of a whole process is bound more loosely, since
 * TensorFlow keeps what oneDNN made for the latest thousand shapes (docs/operate/serving.md): it grows by tens
 * of MiB with a length that was not seen before, and a short run meets many.
 */
const BUFFERS_MIB = 8;

/** versions that serving keeps beside the live one */
const KEPT_VERSIONS = 2;
/** fewest readings that growth is measured over */
const LEAST_READINGS = 4;

export type Soak = {
  readonly requests: number;
  readonly steps: number;
  /** by how much the memory of a process may grow over the second half, MiB */
  readonly heldMib: number;
};

/** Expects that requests beside steps of claw-nano neither fail nor leave anything behind; a third of the steps is served. */
export async function staysLevel({ requests, steps, heldMib }: Soak): Promise<void> {
  const { readings, ...report } = await runSoak({
    requests,
    steps,
    people: 3,
    maxTokens: 160,
    perRound: 10,
    flags: ['--serving-kept-versions', String(KEPT_VERSIONS)],
    isEnough: (readings) => lateOf(readings).length >= LEAST_READINGS,
    print: (line) => console.log(line),
  });
  expect(report.failures).toEqual([]);
  const late = lateOf(readings);
  const held = Object.fromEntries(
    Object.keys(late[0]!.held).map((name) => [name, growthOf(late.map((one) => one.held[name]!))]),
  );
  console.log(JSON.stringify({ ...report, held }));
  expect(report.audit).toBe('balances');
  expect(report.servedVersion).toBeGreaterThanOrEqual(Math.floor(steps / 3));
  for (const side of ['serving', 'trainer'] as const) {
    expect(growthOf(late.map(({ tensors }) => tensors[side])), `tensors of ${side}`).toBe(0);
    const buffers = growthOf(late.map(({ external }) => external[side]));
    expect(buffers, `buffers of ${side}, MiB`).toBeLessThan(BUFFERS_MIB);
  }
  for (const [name, size] of Object.entries(held))
    expect(size, `memory of ${name}, MiB`).toBeLessThan(heldMib);
}

/**
 * The second half of the readings, as far as serving then had all versions that it keeps: a busy machine may
 * serve its first version late. The base is a version too, but without tensors of its own, so the readings count
 * from the version that pushed it out.
 */
function lateOf(readings: readonly Reading[]): readonly Reading[] {
  const full = readings.find(({ versions }) => versions > KEPT_VERSIONS);
  if (full === undefined) return [];
  const baseGone = readings.findIndex(({ steps }) => steps > full.steps);
  return baseGone === -1 ? [] : readings.slice(Math.max(baseGone, Math.floor(readings.length / 2)));
}
