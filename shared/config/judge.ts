import { z } from 'zod';
import { CommonConfig } from './common.ts';
import { QueueConfig } from './queue.ts';

export const JudgeConfig = CommonConfig.extend({
  kind: z
    .enum(['auto', 'ear', 'signals', 'openai', 'model'])
    .default('auto')
    .describe(
      'auto: model if judgeModel is set, else ear for claw-nano, else openai; the ear replaces a judge that does not pass its exam. ear: a built-in small model reads what the person says next; signals: rules read it; openai: any OpenAI-compatible server; model: judgeModel',
    ),
  exam: z
    .boolean()
    .default(true)
    .describe(
      'openai and model judge: verdicts count only after the judge has passed an exam of 40 known exchanges',
    ),
  examTimeoutMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .optional()
    .describe(
      'time limit of one exam exchange in ms; an exchange that takes longer counts as wrong. Default 300000, or the time limit of a vote if that is longer (600000 for judgeModel)',
    ),
  votes: z
    .int()
    .min(1)
    .max(15)
    .optional()
    .describe(
      'votes per turn; an odd number avoids ties. Default 3, or 1 for a deterministic judge (ear, signals)',
    ),
  hintVotes: z
    .int()
    .min(0)
    .max(15)
    .optional()
    .describe(
      'hint votes per turn: how often the judge is asked what the answer should have been. Default 1, or 0 for a judge whose votes include hints (ear, signals)',
    ),
  weakVerdict: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.25)
    .describe(
      'size of a verdict that rests only on what a person did. Negative: they asked for another answer, changed the request, or asked the same again. Positive: they moved on (weaker for a person who seldom complains). 0: no such verdicts',
    ),
  concurrency: z.int().min(1).max(256).default(4).describe('votes cast concurrently'),
  voteTimeoutMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .optional()
    .describe(
      'time limit of one attempt at a vote in ms; after it the vote is retried. Default 60000, or 600000 for judgeModel. With signals and ear the third timeout sets the turn aside',
    ),
  voteAttempts: z
    .int()
    .min(1)
    .default(5)
    .describe('attempts at one vote in a row; the next series starts after retryAfterMs'),
  voteBackoffMs: z
    .int()
    .min(1)
    .default(1000)
    .describe('ms before the second attempt at a vote or the exam; doubles with each attempt'),
  voteMaxBackoffMs: z
    .int()
    .min(1)
    .default(60_000)
    .describe('longest wait between two attempts at a vote or the exam, in ms'),
  retryAfterMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .default(600_000)
    .describe('ms after which votes without attempts left are retried'),
  voteDeadlineMs: z
    .int()
    .min(10)
    .default(86_400_000)
    .describe('ms after which a turn without all its votes settles as unavailable'),
  stepDeadlineMs: z
    .int()
    .min(10)
    .default(600_000)
    .describe(
      'ms after which a step of a rewarded session without all its votes trains by its return alone; its sample waits for them',
    ),
  sweepMs: z
    .int()
    .min(10)
    .max(2_000_000_000)
    .default(30_000)
    .describe('ms between two checks of vote deadlines'),
  openaiBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default('http://127.0.0.1:8700/v1')
    .describe('openai judge: base URL of its server; the default is the ClawLoop serving service'),
  openaiApiKey: z.string().optional().describe('openai judge: API key of its server'),
  servingBaseUrl: z
    .url({ protocol: /^https?$/ })
    .default('http://127.0.0.1:8700/v1')
    .describe('openai judge: base URL of the ClawLoop serving service'),
  servingApiKey: z
    .string()
    .optional()
    .describe(
      'openai judge: API key of the ClawLoop serving service, used if openaiApiKey is not set and sent to no other server',
    ),
  openaiModel: z
    .string()
    .default('clawloop@base')
    .describe('openai judge: model; the default is the base model without its adapter'),
  openaiTemperature: z
    .number()
    .min(0)
    .max(2)
    .default(0.6)
    .describe('openai judge: sampling temperature, which makes votes vary'),
  openaiMaxTokens: z.int().min(1).default(4096).describe('openai judge: maximum tokens per vote'),
  judgeModel: z
    .string()
    .min(1)
    .optional()
    .describe(
      'model judge: a language model that the judge process runs itself: a folder in Hugging Face format or a hub id, owner/name[@revision]. The flag is `--judge-model` under `clawloop up` too',
    ),
  modelTemperature: z
    .number()
    .min(0)
    .max(2)
    .default(0.6)
    .describe('model judge: sampling temperature, which makes votes vary'),
  modelMaxTokens: z
    .int()
    .min(1)
    .default(1024)
    .describe('model judge: maximum tokens per vote; a model that reasons before it answers needs more'),
  healthPort: z
    .int()
    .min(0)
    .max(65_535)
    .default(8702)
    .describe('port of /healthz, /readyz, /metrics and /jobs'),
  ...QueueConfig.shape,
});
export type JudgeConfig = z.output<typeof JudgeConfig>;
