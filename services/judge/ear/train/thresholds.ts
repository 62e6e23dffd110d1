import type { Thresholds } from '../read-ear.ts';

/**
 * That of a kind of wish is set by the messages here, each held out once: four in five complaints that get a kind get
 * no wrong one. The others are set by hand on every second message of a corpus by another author, where all complaints
 * that these let through but one in a hundred are complaints, and checked on the rest. The messages here cannot set
 * those: half of them are meant to mislead, which a person's next message hardly ever is.
 */
export const chosenThresholds: Thresholds = {
  bad: 0.6,
  badWithRule: 0.5,
  good: 0.78,
  goodWithRule: 0.78,
  kind: 0.3,
  wish: 0.6,
};
