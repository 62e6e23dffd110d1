import type { Thresholds } from './read-ear.ts';

/**
 * Thresholds for what both readers heard; those of the traits alone are in `ear.json`. Set by hand on the English
 * messages of three corpora (`next-messages`, `harder-messages`, `plain-messages`): 96 in 100 messages rated as
 * complaints or as praise are so. Praise in long texts needs more: sarcasm begins like praise and goes on.
 */
export const thresholdsOfBoth: Thresholds = {
  bad: 0.65,
  badInLongText: 0.7,
  badWithRule: 0.55,
  good: 0.9,
  goodInLongText: 0.95,
  kind: 0.4,
  wish: 0.7,
};
