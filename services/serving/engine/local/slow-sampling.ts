import type { RunningJob } from './job.ts';

type Timed = Pick<RunningJob, 'id' | 'request'>;

type SamplingRotation = {
  /** Calls `sample`, and records the time if the answer has a token guard. */
  readonly timed: (job: Timed, sample: () => void) => void;
  /** The jobs that take part in the next step. */
  readonly next: <Job extends Timed>(running: readonly Job[]) => ReadonlySet<Job>;
};

/** ms to choose a token; a longer time counts as slow */
const SLOW_MS = 5;
/** ms that slow answers may take together between two steps; one of them always continues */
const BUDGET_MS = 20;

/** Whether a token guard filters the tokens of this answer. */
const isGuarded = ({ format, forcedCall }: Timed['request']): boolean =>
  format !== undefined || forcedCall !== undefined;

/**
 * Some formats are slow to check. Their answers alternate, so that other answers do not wait for all of them
 * with every token.
 */
export function createSamplingRotation(now: () => number): SamplingRotation {
  /** ms of the last token, by job; the most recent job is last */
  const slow = new Map<number, number>();
  return {
    timed: ({ id, request }, sample) => {
      const before = now();
      sample();
      slow.delete(id);
      const took = now() - before;
      if (took > SLOW_MS && isGuarded(request)) slow.set(id, took);
    },
    next: (running) => {
      const byId = new Map(running.map((job) => [job.id, job]));
      const chosen = new Set(running.filter(({ id }) => !slow.has(id)));
      let spent = 0;
      for (const [id, took] of slow) {
        const job = byId.get(id);
        if (job === undefined) slow.delete(id);
        else if (spent === 0 || spent + took <= BUDGET_MS) {
          chosen.add(job);
          spent += took;
        }
      }
      return chosen;
    },
  };
}
