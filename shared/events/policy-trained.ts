import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<batch>/trained`. Version 2 always carries the digests of its input. */
export const PolicyTrained = defineEvent('policy.trained', 2, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer',
  about: 'A step ended and its checkpoint is committed; whether it is served is told by what follows.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    version: z.int().min(1),
    parent: z.int().min(0),
    checkpoint: z.string().describe('folder name under the checkpoint store'),
    digest: z.string().describe('sha256 of adapter and optimizer state'),
    batchDigest: z
      .string()
      .optional()
      .describe('sha256 of the data of the batch; absent: trained by an earlier version'),
    samplesDigest: z.string().optional().describe("sha256 of the batch's samples; absent as above"),
    metrics: z.record(z.string(), z.number()),
    fingerprint: z
      .string()
      .describe('runtime: backend, threads, versions; replay is bit-identical under the same one'),
    milliseconds: z.number(),
  }),
});
export type PolicyTrained = EventOf<typeof PolicyTrained>;
