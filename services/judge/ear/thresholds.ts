import type { Thresholds } from './read-ear.ts';

/** In any language. */
const complaints = { badInLongText: 0.75, badWithRule: 0.55 } as const;

/**
 * Thresholds for what both readers heard; those of the traits alone are in `ear.json`. Set by hand with the figures of
 * all corpora in view: at least 95 in 100 messages rated as complaints or as praise are so. Praise in long texts needs
 * more: sarcasm begins like praise and goes on. In other languages than English the readers are more often wrong about a
 * complaint, and less sure of a wish.
 */
export const thresholdsOfBoth = {
  english: { ...complaints, bad: 0.62, good: 0.85, goodInLongText: 0.95, kind: 0.4, wish: 0.7 },
  others: { ...complaints, bad: 0.68, good: 0.92, goodInLongText: 0.95, kind: 0.3, wish: 0.7 },
} as const satisfies Readonly<Record<string, Thresholds>>;
