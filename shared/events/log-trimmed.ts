import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Topics whose oldest records may be removed. `training` is not among them: heads and replay need all of it. */
export const trimmableTopics = ['conversations', 'turns'] as const;
export type TrimmableTopic = (typeof trimmableTopics)[number];

/** Id: `trim/<topic>/<partition>/<to>`. Written before the records are removed. */
export const LogTrimmed = defineEvent('log.trimmed', 1, {
  topic: 'dead-letters',
  key: ({ topic }) => topic,
  writtenBy: 'collector, cli',
  about: 'The oldest records of a partition are removed, up to an offset.',
  data: z.object({
    topic: z.enum(trimmableTopics),
    partition: z.int().min(0),
    from: z.int().min(0).describe('first offset that the partition had'),
    to: z.int().min(0).describe('first offset that it has from now on'),
    before: z.string().describe('RFC 3339: append time of the latest record that is removed'),
    bytes: z.int().min(0).describe('size of the removed records as they are stored'),
    chain: z
      .object({
        from: z.int().min(0).describe('first offset that the chain covers'),
        link: z.string().describe('the link after the last record that is removed'),
      })
      .describe('the hash chain at the cut'),
    keep: z.string().optional().describe('the limit on age, such as 90d'),
    keepBytes: z.string().optional().describe('the limit on size, such as 20gb'),
  }),
});
export type LogTrimmed = EventOf<typeof LogTrimmed>;
