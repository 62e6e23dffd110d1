import { z } from 'zod';
import { chatMessage } from './chat-message.ts';
import { defineEvent, type EventOf } from './define-event.ts';
import { templateInput } from './template-input.ts';
import { tokenRecord } from './token-record.ts';

/**
 * A sample with everything that training needs. Id: `<sample>/ready`. Version 3 added the access key; version 4
 * revised judgments.
 */
export const SampleReady = defineEvent('sample.ready', 6, {
  topic: 'training',
  key: (sample) => sample.adapter,
  writtenBy: 'collector',
  about: 'A judged turn is ready to train.',
  data: z.object({
    sampleId: z.string().describe('the turn id; <turn>~<n> for a revised judgment'),
    adapter: z.string(),
    lane: z.string(),
    key: z.string().optional().describe('id of the access key; absent in older events'),
    session: z.string(),
    epoch: z.string(),
    version: z.int().min(0).describe('version that sampled it'),
    verdict: z.number().describe('score of the judgment, or the mean vote of an at-least-one sample'),
    source: z.enum(['votes', 'feedback', 'reward', 'implicit']),
    evidence: z
      .enum(['tool'])
      .optional()
      .describe("tool: results of calls came next, without a person's words; absent: anything else"),
    carried: z
      .int()
      .min(1)
      .optional()
      .describe('the verdict is that of an answer this many turns later, discounted; absent: its own'),
    advantage: z.number().optional().describe('replaces verdict minus baseline'),
    following: z
      .int()
      .min(0)
      .optional()
      .describe('samples of the same rewarded session that follow directly; they train in one batch'),
    weight: z
      .number()
      .positive()
      .optional()
      .describe('relative to the other samples of its batch; absent: 1'),
    soft: z.boolean().describe('true: contributed by the at-least-one rule, with the mean vote'),
    hints: z.array(z.string()).readonly(),
    said: z.string().optional().describe('when the person reacted, RFC 3339; absent in older events'),
    repeats: z
      .literal(true)
      .optional()
      .describe('its hints were stated before, with an earlier sample of the turn'),
    inferred: z.literal(true).optional().describe('the hint was inferred, not stated; absent: it was stated'),
    messages: z.array(chatMessage).readonly().describe('for teachers that read a hint in the prompt'),
    tools: z.array(z.unknown()).readonly().optional(),
    templateInput: templateInput.optional(),
    tokens: tokenRecord,
  }),
});
export type SampleReady = EventOf<typeof SampleReady>;
