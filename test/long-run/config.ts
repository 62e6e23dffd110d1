export type LongRunConfig = {
  readonly seed: number;
  /** simulated */
  readonly hours: number;
  /** Simulated seconds per second. */
  readonly rate: number;
  readonly people: number;
  /** A file for the figures, JSON. */
  readonly reportFile: string | undefined;
};

/** CLAWLOOP_LONG_RUN_SEED, _HOURS, _RATE, _PEOPLE and _REPORT. */
export function longRunConfig(environment: NodeJS.ProcessEnv = process.env): LongRunConfig {
  const number = (name: string, otherwise: number): number => {
    const text = environment[`CLAWLOOP_LONG_RUN_${name}`];
    const value = text === undefined ? otherwise : Number(text);
    if (!(value > 0)) throw new Error(`CLAWLOOP_LONG_RUN_${name} must be a number above 0, not '${text}'`);
    return value;
  };
  return {
    seed: number('SEED', 1),
    hours: number('HOURS', 72),
    rate: number('RATE', 60),
    people: number('PEOPLE', 200),
    reportFile: environment.CLAWLOOP_LONG_RUN_REPORT,
  };
}
