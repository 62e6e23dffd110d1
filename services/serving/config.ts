import { z } from 'zod';
import { CommonConfig } from '../../shared/service/config.ts';
import { configuredKey } from '../../shared/service/configured-key.ts';

export const ServingConfig = CommonConfig.extend({
  host: z
    .string()
    .default('127.0.0.1')
    .describe('address of the endpoint; beyond loopback a key is required'),
  port: z.int().min(0).max(65_535).default(8700).describe('port of the endpoint; 0: any free one'),
  apiKey: configuredKey
    .optional()
    .describe(
      'an access key besides those of `clawloop keys`, 16 characters or more; `ps` shows a flag, not the variable',
    ),
  apiKeyFile: z.string().optional().describe('file that holds that access key'),
  sessionSecret: z
    .string()
    .min(16)
    .optional()
    .describe(
      'what session keys and ids of answers are signed with, the same on every replica; else a file in the data folder, made once',
    ),
  maxSessions: z
    .int()
    .min(1)
    .default(256)
    .describe(
      'sessions of the session protocol that one access key may have open; more get 429 with Retry-After',
    ),
  batchSize: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      "the collector's, which `up` tells it: with maxStaleness it bounds the sessions that may be open",
    ),
  maxBatchSize: z
    .int()
    .min(1)
    .max(32_768)
    .optional()
    .describe("the collector's: samples of its largest batches; 8 times batchSize"),
  maxStaleness: z
    .int()
    .min(0)
    .optional()
    .describe("the collector's: versions that a sample may be behind the head"),
  modelAlias: z
    .array(z.string().regex(/^[^@\s]+$/))
    .min(1)
    .default(['clawloop'])
    .describe('names of the live policy; the first one is shown to clients'),
  strictModels: z
    .boolean()
    .default(false)
    .describe('refuse model names that are not an alias; else any name without @ means the live policy'),
  strictFields: z
    .boolean()
    .default(false)
    .describe(
      'refuse requests with fields that are not known, and with tools that a server would run; else they are left out, and the answer names them',
    ),
  images: z
    .enum(['placeholder', 'refuse'])
    .default('placeholder')
    .describe('an image in a message becomes the text [image], or the request is refused'),
  corsOrigins: z
    .array(
      z.string().regex(/^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/\s]+)$/, 'must be * or like https://example.org'),
    )
    .default([])
    .describe(
      'origins of web pages that may ask, separated by commas, or *; while no key is needed, every page that may ask can also teach',
    ),
  context: z
    .enum(['auto', 'window', 'error'])
    .default('auto')
    .describe(
      'a prompt that does not fit: cut to a window, or refused; auto: window for claw-nano, else error',
    ),
  contextTokens: z
    .int()
    .min(16)
    .optional()
    .describe("limit of prompt and answer, tokens; else the model's own"),
  systemBudget: z
    .int()
    .min(0)
    .optional()
    .describe(
      "tokens of the system text that a small model is shown, without what clients write around a person's words; 0: all of both; else the model's own limits",
    ),
  maxBatch: z.int().min(1).max(256).default(8).describe('answers of one version generated at the same time'),
  maxWaiting: z
    .int()
    .min(1)
    .default(256)
    .describe('answers that may wait for a place; more get 429 with Retry-After'),
  prefillTokens: z
    .int()
    .min(16)
    .default(128)
    .describe('tokens of a prompt that are read between two tokens of the answers that run'),
  kvCacheMib: z
    .int()
    .min(1)
    .default(4096)
    .describe('MiB of keys and values of the answers that are generated; those without room wait'),
  prefixCacheMib: z
    .int()
    .min(0)
    .default(256)
    .describe(
      'MiB of keys and values that are kept, so that a prompt that begins as an earlier one is read from there on; 0: none',
    ),
  sharePrefixes: z
    .boolean()
    .default(false)
    .describe(
      'all access keys share what is kept of prompts; else each has its own, since what is known already tells what others said',
    ),
  warmPrompts: z
    .int()
    .min(0)
    .max(64)
    .default(4)
    .describe(
      'long prompts of the latest conversations that a new version reads before it is served, for 30 s at most; 0: none',
    ),
  maxConcurrentPerKey: z
    .int()
    .min(1)
    .default(32)
    .describe('answers that one access key may have open; more get 429 with Retry-After'),
  otherRequestsPerMinute: z
    .int()
    .min(1)
    .default(6_000)
    .describe(
      'requests for anything but answers that an access key without --requests-per-minute may send; one with it may send four times as many as for answers; more get 429 with Retry-After',
    ),
  maxChoices: z
    .int()
    .min(1)
    .max(128)
    .default(8)
    .describe('answers that one request may ask for with `n`; more get 400'),
  maxBodyBytes: z
    .int()
    .min(1)
    .optional()
    .describe('larger request bodies get 413; else 16 MiB, and 8 MiB while no key is needed'),
  maxBodyBytesPerKey: z
    .int()
    .min(1)
    .default(64 * 1024 * 1024)
    .describe(
      'bytes of request bodies that one access key may have under way, each until its answer has ended; more get 429 with Retry-After',
    ),
  requestTimeoutMs: z
    .int()
    .min(100)
    .default(60_000)
    .describe('ms that a client may take to send a request; then it gets 408 and its connection is closed'),
  maxConnections: z
    .int()
    .min(1)
    .default(1_000)
    .describe('open connections; for one more, the oldest that waits for no answer is closed'),
  maxRecordBytes: z
    .int()
    .min(10_000)
    .max(16 * 1024 * 1024)
    .default(16 * 1024 * 1024)
    .describe('a larger fact is written without bodies (tooLarge), so its turn does not train'),
  threads: z
    .int()
    .min(1)
    .optional()
    .describe(
      'threads inside one op of the native backend; else all, or one for claw-nano, which is too small',
    ),
  keptVersions: z
    .int()
    .min(0)
    .optional()
    .describe(
      'versions besides the live one that stay in memory after their last answer; 2 unless told, 0 where each is all weights',
    ),
  appendTimeoutMs: z
    .int()
    .min(10)
    .default(2_000)
    .describe('ms that a fact waits for the log before it goes to the outbox'),
  promptTimeoutMs: z
    .int()
    .min(100)
    .default(20_000)
    .describe(
      'ms that the prompt of one request may take to make; then that request gets 400 and the thread is started again',
    ),
  engineTimeoutMs: z
    .int()
    .min(1_000)
    .default(300_000)
    .describe(
      'ms without a sign of life from the thread that generates; then serving ends, to be started again',
    ),
  outboxMib: z
    .int()
    .min(1)
    .default(4_096)
    .describe(
      'MiB of facts that may wait for the log in the outbox, half of them of one access key; what finds no room is not recorded, and the answer says so',
    ),
  engine: z.enum(['local', 'upstream']).default('local').describe('who generates'),
  upstreamUrl: z.url().optional().describe('base address of an OpenAI-compatible server, with its /v1'),
  upstreamKind: z
    .enum(['openai', 'vllm', 'sglang'])
    .default('openai')
    .describe(
      'what serves there: vllm and sglang give token ids and take adapters; openai: any other, which serves one model',
    ),
  upstreamApiKey: z.string().optional().describe('sent to the upstream server as a bearer token'),
  upstreamModel: z
    .string()
    .optional()
    .describe('name of the base model there; else the first that it lists, or `default` (openai)'),
  upstreamAdapterFolder: z
    .string()
    .regex(/^[^=]+=[^=]+$/, 'must be FROM=TO')
    .optional()
    .describe(
      'FROM=TO: the data folder or one in it that holds the adapters, and its path on the upstream machine',
    ),
  upstreamSampling: z
    .enum(['model', 'plain'])
    .default('model')
    .describe(
      "vllm, sglang: what a client leaves out is the model's own generation_config, or temperature 1 without filters",
    ),
  upstreamLogprobs: z
    .enum(['none', 'raw', 'scaled', 'processed'])
    .optional()
    .describe(
      'what its log-probs are of: before temperature (raw), after it (scaled), after filters too (processed); else raw (vllm), scaled (sglang), none (openai)',
    ),
  upstreamTokenIds: z
    .boolean()
    .default(false)
    .describe('openai: ask for token ids with return_token_ids, as vLLM gives them; needed for training'),
  upstreamHealthMs: z
    .int()
    .min(50)
    .default(5_000)
    .describe('ms between two questions after the health of the upstream server'),
  upstreamConnectTimeoutMs: z
    .int()
    .min(1)
    .default(5_000)
    .describe('ms until a connection to the upstream server is given up'),
  upstreamFirstByteTimeoutMs: z
    .int()
    .min(1)
    .optional()
    .describe('ms from a request to its first byte; as --upstream-timeout-ms unless told'),
  upstreamTimeoutMs: z
    .int()
    .default(300_000)
    .describe('ms without a byte until an upstream answer is given up'),
});
export type ServingConfig = z.output<typeof ServingConfig>;
