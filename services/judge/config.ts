import { z } from 'zod';
import { CommonConfig } from '../../shared/service/config.ts';
import { QueueConfig } from '../../shared/service/queue-config.ts';

export const JudgeConfig = CommonConfig.extend({
  kind: z
    .enum(['auto', 'ear', 'signals', 'openai', 'model'])
    .default('auto')
    .describe(
      'auto: model where judgeModel names one, else ear for claw-nano, else openai; the ear stands in for a judge that does not pass its exam; ear: what the person says next, by a small model of our own; signals: the same by rules; openai: any OpenAI-compatible server; model: judgeModel',
    ),
  exam: z
    .boolean()
    .default(true)
    .describe(
      'openai and model judge: its verdicts count only once it has passed an exam of 40 known exchanges',
    ),
  examTimeoutMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .optional()
    .describe(
      'ms per exchange of the exam; one that takes longer counts as not understood. 300000 unless told, or the time limit of a vote where that is longer, as it is for judgeModel (600000)',
    ),
  votes: z
    .int()
    .min(1)
    .max(15)
    .optional()
    .describe(
      'votes per turn; odd avoids ties. 3 unless told, 1 for a judge that does not vary (ear, signals)',
    ),
  hintVotes: z
    .int()
    .min(0)
    .max(15)
    .optional()
    .describe(
      'times per turn that the judge is asked what the answer should have been; 1 unless told, 0 for a judge whose votes bring hints (ear, signals)',
    ),
  weakVerdict: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.25)
    .describe(
      'size of a verdict that rests on what a person did alone: another answer asked for, the request changed, the same asked again (-), going on (+; less of it for a person who seldom complains); 0: none',
    ),
  concurrency: z.int().min(1).max(256).default(4).describe('votes at a time'),
  voteTimeoutMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .optional()
    .describe(
      'ms per try of one vote; then it is ended and tried again. 60000 unless told, 600000 for judgeModel. Of signals the third such try sets its turn aside',
    ),
  voteAttempts: z
    .int()
    .min(1)
    .default(5)
    .describe('tries of one vote in a row; then it rests for retryAfterMs and begins anew'),
  voteBackoffMs: z
    .int()
    .min(1)
    .default(1000)
    .describe('ms before the second try, of the exam too; doubles from try to try'),
  voteMaxBackoffMs: z.int().min(1).default(60_000).describe('ms between two tries at most, of the exam too'),
  retryAfterMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .default(600_000)
    .describe('ms after which votes whose tries are used up are tried again'),
  voteDeadlineMs: z
    .int()
    .min(10)
    .default(86_400_000)
    .describe('ms after which a turn whose votes are not all in settles as unavailable'),
  sweepMs: z.int().min(10).max(2_000_000_000).default(30_000).describe('ms between two looks at deadlines'),
  openaiBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default('http://127.0.0.1:8700/v1')
    .describe('openai judge: its server; the default is our own serving'),
  openaiApiKey: z.string().optional().describe('openai judge: key of its server'),
  servingBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default('http://127.0.0.1:8700/v1')
    .describe('openai judge: where our own serving is'),
  servingApiKey: z
    .string()
    .optional()
    .describe('openai judge: key of our own serving, sent there alone, where openaiApiKey is not given'),
  openaiModel: z
    .string()
    .default('clawloop@base')
    .describe('openai judge: model; the default is the served model without what it has learned'),
  openaiTemperature: z
    .number()
    .min(0)
    .max(2)
    .default(0.6)
    .describe('openai judge: temperature; votes vary by it'),
  openaiMaxTokens: z.int().min(1).default(4096).describe('openai judge: tokens per vote at most'),
  judgeModel: z
    .string()
    .min(1)
    .optional()
    .describe(
      'model judge: a language model that this process runs itself: a folder in Hugging Face format, or a hub id, owner/name[@revision]. Under `clawloop up` too the flag is `--judge-model`',
    ),
  modelTemperature: z
    .number()
    .min(0)
    .max(2)
    .default(0.6)
    .describe('model judge: temperature; votes vary by it'),
  modelMaxTokens: z
    .int()
    .min(1)
    .default(1024)
    .describe('model judge: tokens per vote at most; one that thinks before it answers needs more'),
  healthPort: z
    .int()
    .min(0)
    .max(65_535)
    .default(8702)
    .describe('port of /healthz, /readyz, /metrics and /jobs'),
  ...QueueConfig.shape,
});
export type JudgeConfig = z.output<typeof JudgeConfig>;
