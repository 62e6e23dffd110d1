import type { RunningJob } from './job.ts';

type Timed = Pick<RunningJob, 'id' | 'request'>;

export type SamplingTurns = {
  /** Calls `sample`, and notes how long the next token of an answer of a format took to choose. */
  readonly timed: (job: Timed, sample: () => void) => void;
  /** Those of `running` that may take part in the next step. */
  readonly next: <Job extends Timed>(running: readonly Job[]) => ReadonlySet<Job>;
};

/** ms; choosing a token that takes longer counts as slow */
const SLOW_MS = 5;
/** ms that slow answers may take together between two steps; one of them goes on in any case */
const BUDGET_MS = 20;

/** Whether what comes next in it has to be looked for. */
const isHeld = ({ format, heldParameters }: Timed['request']): boolean =>
  format !== undefined || heldParameters !== undefined;

/**
 * Which token goes on with a document takes long to tell for some formats. Answers of such take turns, so
 * that those beside them need not wait for all of them with every token.
 */
export function createSamplingTurns(now: () => number): SamplingTurns {
  /** ms that their last tokens took, by job; who chose last stands last */
  const slow = new Map<number, number>();
  return {
    timed: ({ id, request }, sample) => {
      const before = now();
      sample();
      slow.delete(id);
      const took = now() - before;
      if (took > SLOW_MS && isHeld(request)) slow.set(id, took);
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
