/**
 * Flags of `clawloop up` with which claw-nano learns a skill. Larger batches compare several questions. The gate's
 * bounds are made for changes of style; a new skill moves the first token of every answer, and needs wider ones.
 */
export const skillFlags: readonly string[] = [
  '--collector-batch-size',
  '16',
  '--collector-gate-mean-kl',
  '0.3',
  '--collector-gate-base-kl',
  '1',
];
