/** An answer that a client received whole, with its finish reason. Times are of the monotonic clock, ms. */
export type Given = {
  readonly id: string;
  readonly at: number;
  /** From the request to the end of the answer, with the client's own retries. */
  readonly tookMs: number;
  readonly text: string;
  readonly finishReason: string;
  /** Whether the answer was marked as recorded. */
  readonly isRecorded: boolean;
};

/** A request that was refused or cut off. */
export type Failure = { readonly from: number; readonly to: number; readonly what: string };

/** The crowd's own record of its requests. */
export type CrowdRecord = {
  readonly given: readonly Given[];
  readonly failures: readonly Failure[];
  /** Answers on which feedback was accepted. */
  readonly feedback: readonly string[];
  /** Sessions whose end was accepted. */
  readonly ended: readonly string[];
  /** Requests without an answer after all retries. */
  readonly unanswered: readonly string[];
};

/** A time in which serving was down. */
export type Outage = { readonly from: number; readonly to: number };

/** Failures outside all outages of serving. */
export const unexcused = (failures: readonly Failure[], outages: readonly Outage[]): readonly Failure[] =>
  failures.filter((failure) => !outages.some(({ from, to }) => failure.from <= to && failure.to >= from));
