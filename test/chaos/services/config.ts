/** CLAWLOOP_CHAOS_SEED runs one seed instead of those that a test has. */
export const seedsOr = (seeds: readonly number[]): readonly number[] =>
  process.env.CLAWLOOP_CHAOS_SEED === undefined ? seeds : [Number(process.env.CLAWLOOP_CHAOS_SEED)];

/** CLAWLOOP_CHAOS_REPORT: a file for the figures of a nightly run, JSON. */
export const reportFile = (): string | undefined => process.env.CLAWLOOP_CHAOS_REPORT;

/** CLAWLOOP_REQUIRE_ALL=1: nothing may be skipped for what is missing on this machine. */
export const requiresAll = (): boolean => process.env.CLAWLOOP_REQUIRE_ALL === '1';
