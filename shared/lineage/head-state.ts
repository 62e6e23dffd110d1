import { z } from 'zod';
import { BatchSubmitted } from '../events/batch-submitted.ts';
import { PolicyCanaryStarted } from '../events/policy-canary-started.ts';

const versionRow = z.object({
  parent: z.int().nullable(),
  checkpoint: z.string().nullable(),
  digest: z.string().nullable(),
});

/** A `HeadState` that was stored. */
export const headState = z.object({
  head: z.int(),
  n: z.int(),
  open: BatchSubmitted.schema.nullable(),
  canary: PolicyCanaryStarted.schema.nullable().default(null),
  versions: z.record(z.string(), versionRow),
  commands: z.record(z.string(), z.literal(true)),
});
