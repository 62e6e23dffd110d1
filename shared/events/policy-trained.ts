import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * Why a sample cannot be trained where the step was computed; a training server scores plain text at temperature 1, of
 * the length that it takes.
 */
export const leftOut = z.object({
  sampleId: z.string(),
  reason: z
    .enum(['other-temperature', 'restricted-tokens', 'too-long'])
    .describe(
      'sampled at a temperature other than 1; its format restricted the tokens; or the server takes fewer tokens',
    ),
});

/** Id: `<batch>/trained`. Version 2 always has the digests of its input. */
export const PolicyTrained = defineEvent('policy.trained', 2, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer',
  about: 'A step ended and its checkpoint is committed. The next event says whether it is served.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    version: z.int().min(1),
    parent: z.int().min(0),
    checkpoint: z.string().describe('folder name in the checkpoint store'),
    digest: z.string().describe('sha256 of adapter and optimizer state'),
    batchDigest: z
      .string()
      .optional()
      .describe("sha256 of the batch's data; absent: trained by an earlier version"),
    samplesDigest: z.string().optional().describe("sha256 of the batch's samples; absent as above"),
    metrics: z.record(z.string(), z.number()),
    fingerprint: z
      .string()
      .describe('runtime: backend, threads, versions; replay is bit-identical under the same runtime'),
    milliseconds: z.number(),
    leftOut: z
      .array(leftOut)
      .optional()
      .describe('samples of the batch that a training server cannot train; absent: none'),
  }),
});
export type PolicyTrained = EventOf<typeof PolicyTrained>;
