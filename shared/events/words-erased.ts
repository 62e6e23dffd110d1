import { z } from 'zod';
import { defineEvent, type EventOf, topics } from './define-event.ts';

/** Id: `erasure/<time>`. The erased records keep their places; each has the time of this event in `erased`. */
export const WordsErased = defineEvent('words.erased', 1, {
  // of the topics that are never trimmed, the one that no fold reads
  topic: 'dead-letters',
  key: () => 'erasure',
  writtenBy: 'cli',
  about: 'An operator erased the words of a session or an access key from the log.',
  data: z.object({
    scope: z.enum(['session', 'key', 'answer']),
    name: z.string().describe('the session, or the id of the access key or of the answer'),
    key: z.string().describe('id of the access key'),
    by: z.string().describe('who ran the command'),
    reason: z.string().optional().describe("the operator's words"),
    turns: z.int().min(0).describe('answers whose words were erased'),
    records: z.int().min(0).describe('records that were rewritten'),
    rows: z.int().min(0).describe('rows of folds that were rewritten'),
    chains: z
      .array(
        z.object({
          topic: z.enum(topics),
          partition: z.int().min(0),
          first: z.int().min(0).describe('offset of the first rewritten record'),
          to: z.int().min(0).describe('offset after the last record at that time'),
          records: z.int().min(1),
          before: z.string().describe('head of the chain before the erasure'),
          after: z.string().describe('head of the chain after it, of the same records'),
        }),
      )
      .readonly()
      .describe('the hash chains that were computed again'),
    versions: z
      .array(z.object({ adapter: z.string(), version: z.int().min(1) }))
      .readonly()
      .describe('versions that were trained from the words, and are as they were'),
  }),
});
export type WordsErased = EventOf<typeof WordsErased>;
