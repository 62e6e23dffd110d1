/** CLAWLOOP_CHAOS_SEED: runs this seed instead of a test's own seeds. */
export const seedsOr = (seeds: readonly number[]): readonly number[] =>
  process.env.CLAWLOOP_CHAOS_SEED === undefined ? seeds : [Number(process.env.CLAWLOOP_CHAOS_SEED)];

/** CLAWLOOP_CHAOS_REPORT: a file for the figures of a nightly run, JSON. */
export const reportFile = (): string | undefined => process.env.CLAWLOOP_CHAOS_REPORT;

/** CLAWLOOP_REQUIRE_ALL=1: a missing part fails the test instead of skipping it. */
export const requiresAll = (): boolean => process.env.CLAWLOOP_REQUIRE_ALL === '1';
