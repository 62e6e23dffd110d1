/** An answer that a client was given whole, with its finish reason. Times are of the monotonic clock, ms. */
export type Given = {
  readonly id: string;
  readonly at: number;
  readonly text: string;
  readonly finishReason: string;
  /** What the answer said of itself. */
  readonly isRecorded: boolean;
};

/** A request that was refused, or broke off. */
export type Failure = { readonly from: number; readonly to: number; readonly what: string };

/** What the people in the crowd remember. */
export type CrowdRecord = {
  readonly given: readonly Given[];
  readonly failures: readonly Failure[];
  /** Answers on which feedback was accepted. */
  readonly feedback: readonly string[];
  /** Sessions whose end was accepted. */
  readonly ended: readonly string[];
  /** What nobody answered, however often it was asked. */
  readonly unanswered: readonly string[];
};

/** When serving was away. */
export type Outage = { readonly from: number; readonly to: number };

/** Failures that no death of serving accounts for. */
export const unexcused = (failures: readonly Failure[], outages: readonly Outage[]): readonly Failure[] =>
  failures.filter((failure) => !outages.some(({ from, to }) => failure.from <= to && failure.to >= from));
