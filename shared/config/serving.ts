import { z } from 'zod';
import { AsideConfig } from './aside.ts';
import { CheckpointsConfig } from './checkpoints.ts';
import { CommonConfig } from './common.ts';
import { configuredKey } from './configured-key.ts';
import { hasNoCredentials } from './logged-url.ts';
import { QueueConfig, RedisConfig } from './queue.ts';
import { TrainingEngineConfig } from './training-server.ts';

export const ServingConfig = CommonConfig.extend({
  host: z
    .string()
    .default('127.0.0.1')
    .describe('address of the endpoint; beyond loopback a key is required'),
  port: z.int().min(0).max(65_535).default(8700).describe('port of the endpoint; 0: any free port'),
  apiKey: configuredKey
    .optional()
    .describe(
      'an access key in addition to those of `clawloop keys`, 16 characters or more; `ps` shows the flag, not the variable',
    ),
  apiKeyFile: z.string().optional().describe('file that contains this access key'),
  sessionSecret: z
    .string()
    .min(16)
    .optional()
    .describe(
      'secret that signs session keys and answer ids, the same on every replica; default a file in the data folder, created once',
    ),
  maxSessions: z
    .int()
    .min(1)
    .default(256)
    .describe('open sessions of the session protocol per access key; more get 429 with Retry-After'),
  batchSize: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      "the collector's batch size, passed on by `up`: with maxStaleness it bounds the number of open sessions",
    ),
  maxBatchSize: z
    .int()
    .min(1)
    .max(32_768)
    .optional()
    .describe("the collector's largest batch size; default 8 times batchSize"),
  maxStaleness: z
    .int()
    .min(0)
    .optional()
    .describe("the collector's limit of versions that a sample may be behind the head"),
  modelAlias: z
    .array(z.string().regex(/^[^@\s]+$/))
    .min(1)
    .default(['clawloop'])
    .describe('names of the live policy; clients see the first'),
  strictModels: z
    .boolean()
    .default(false)
    .describe('refuse model names that are not an alias; otherwise any name without @ means the live policy'),
  strictFields: z
    .boolean()
    .default(false)
    .describe(
      'refuse requests with unknown fields or server-side tools; otherwise they are left out, and the answer names them',
    ),
  images: z
    .enum(['placeholder', 'refuse'])
    .default('placeholder')
    .describe(
      'replace an image in a message by the text [image], and a file by [document], or refuse the request',
    ),
  corsOrigins: z
    .array(
      z.string().regex(/^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/\s]+)$/, 'must be * or like https://example.org'),
    )
    .default([])
    .describe(
      'origins of web pages that may send requests, separated by commas, or *; while no key is needed, every allowed page can also teach',
    ),
  context: z
    .enum(['auto', 'window', 'error'])
    .default('auto')
    .describe(
      'a prompt that does not fit is cut to a window, or refused; auto: window for claw-nano, otherwise error',
    ),
  contextTokens: z
    .int()
    .min(16)
    .optional()
    .describe("limit of prompt and answer in tokens; default the model's own"),
  systemBudget: z
    .int()
    .min(0)
    .optional()
    .describe(
      "system-text tokens shown to a small model, without what clients add around a person's words; 0: everything is shown; default the model's own limits",
    ),
  maxBatch: z.int().min(1).max(256).default(8).describe('answers of one version generated concurrently'),
  maxWaiting: z
    .int()
    .min(1)
    .default(256)
    .describe('answers that may wait in the queue; more get 429 with Retry-After'),
  prefillTokens: z
    .int()
    .min(16)
    .default(128)
    .describe('prompt tokens read between two tokens of running answers'),
  kvCacheMib: z
    .int()
    .min(1)
    .default(4096)
    .describe('MiB of keys and values for running answers; answers without room wait'),
  prefixCacheMib: z
    .int()
    .min(0)
    .default(256)
    .describe('MiB of keys and values kept for prompts that start like earlier prompts; 0: none'),
  sharePrefixes: z
    .boolean()
    .default(false)
    .describe(
      'all access keys share the prompt cache; otherwise each has its own, since cache hits reveal what others said',
    ),
  warmPrompts: z
    .int()
    .min(0)
    .max(64)
    .default(4)
    .describe(
      'long prompts of the latest conversations that a new version reads before it is served, for at most 30 s; 0: none',
    ),
  maxConcurrentPerKey: z
    .int()
    .min(1)
    .default(32)
    .describe('open answers per access key; more get 429 with Retry-After'),
  otherRequestsPerMinute: z
    .int()
    .min(1)
    .default(6_000)
    .describe(
      'requests other than answers per minute, for an access key without --requests-per-minute; a key with it may send four times as many as answers; more get 429 with Retry-After',
    ),
  maxChoices: z.int().min(1).max(128).default(8).describe('answers per request (`n`); more get 400'),
  maxBodyBytes: z
    .int()
    .min(1)
    .optional()
    .describe(
      'largest request body in bytes, larger get 413; default 16 MiB, or 8 MiB while no key is needed',
    ),
  maxBodyBytesPerKey: z
    .int()
    .min(1)
    .default(64 * 1024 * 1024)
    .describe('bytes of open request bodies per access key; more get 429 with Retry-After'),
  requestTimeoutMs: z
    .int()
    .min(100)
    .default(60_000)
    .describe(
      'ms within which a client must send its request; later requests get 408 and the connection is closed',
    ),
  streamKeepAliveMs: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(15_000)
    .describe(
      'ms without anything sent after which a stream sends its headers and a sign of life, also before the first token; 0: never',
    ),
  maxConnections: z
    .int()
    .min(1)
    .default(1_000)
    .describe('open connections; beyond that, the oldest connection that waits for no answer is closed'),
  maxRecordBytes: z
    .int()
    .min(10_000)
    .max(16 * 1024 * 1024)
    .default(16 * 1024 * 1024)
    .describe(
      'largest event in bytes; a larger event is written without bodies (tooLarge), and its turn does not train',
    ),
  threads: z
    .int()
    .min(1)
    .optional()
    .describe(
      'threads inside one op of the native backend; default all, or one for claw-nano, which is too small',
    ),
  keptVersions: z
    .int()
    .min(0)
    .optional()
    .describe(
      'versions besides the live version that stay in memory after their last answer; default 2, or 0 if each is all weights',
    ),
  appendTimeoutMs: z
    .int()
    .min(10)
    .default(2_000)
    .describe('ms that an event waits for the log before it goes to the outbox'),
  promptTimeoutMs: z
    .int()
    .min(100)
    .default(20_000)
    .describe('ms to make the prompt of one request; then that request gets 400 and the thread is restarted'),
  engineTimeoutMs: z
    .int()
    .min(1_000)
    .default(300_000)
    .describe('ms without a sign of life from the generating thread; then serving exits, to be restarted'),
  outboxMib: z
    .int()
    .min(1)
    .default(4_096)
    .describe(
      'MiB of events that may wait in the outbox for the log, at most half from one access key; beyond that, events are not recorded, and the answer says so',
    ),
  engine: z.enum(['local', 'upstream']).default('local').describe('which engine generates'),
  upstreamUrl: z
    .url()
    .refine(hasNoCredentials, 'give the key as upstreamApiKey, because the URL is logged')
    .optional()
    .describe('base address of an OpenAI-compatible server, including /v1'),
  upstreamKind: z
    .enum(['openai', 'vllm', 'sglang'])
    .default('openai')
    .describe(
      'kind of server: vllm and sglang give token ids and load adapters; openai: any other server with one model',
    ),
  upstreamApiKey: z.string().optional().describe('bearer token for the upstream server'),
  upstreamModel: z
    .string()
    .optional()
    .describe("the server's name of the base model; default the first that it lists, or `default` (openai)"),
  upstreamAdapterFolder: z
    .string()
    .regex(/^[^=]+=[^=]+$/, 'must be FROM=TO')
    .optional()
    .describe(
      'FROM=TO: the data folder, or a folder in it that holds the adapters, and its path on the upstream machine',
    ),
  upstreamSampling: z
    .enum(['model', 'plain'])
    .default('model')
    .describe(
      "vllm, sglang: fields that a client omits take the model's own generation_config, or temperature 1 without filters",
    ),
  upstreamLogprobs: z
    .enum(['none', 'raw', 'scaled', 'processed'])
    .optional()
    .describe(
      'stage at which the server computes its logprobs: before temperature (raw), after temperature (scaled), or after temperature and filters (processed); default raw (vllm), scaled (sglang), none (openai)',
    ),
  upstreamTokenIds: z
    .boolean()
    .default(false)
    .describe('openai: request token ids with return_token_ids, as vLLM gives them; needed for training'),
  upstreamHealthMs: z
    .int()
    .min(50)
    .default(5_000)
    .describe('ms between health checks of the upstream server'),
  upstreamConnectTimeoutMs: z
    .int()
    .min(1)
    .default(5_000)
    .describe('ms until a connection to the upstream server times out'),
  upstreamFirstByteTimeoutMs: z
    .int()
    .min(1)
    .optional()
    .describe('ms from a request to its first byte; default --upstream-timeout-ms'),
  upstreamTimeoutMs: z
    .int()
    .default(300_000)
    .describe('ms without a byte until an upstream answer times out'),
  ...AsideConfig.shape,
  ...CheckpointsConfig.shape,
  ...RedisConfig.shape,
  queue: QueueConfig.shape.queue.describe(
    'redis, with the log on kafka: all servings share the answers stored by Idempotency-Key; memory: each stores its own',
  ),
  sharedAnswersMib: z
    .int()
    .min(1)
    .default(256)
    .describe(
      'redis: MiB of answers stored by Idempotency-Key, for all servings; a quarter per access key. Above this limit, serving removes the oldest answers of the key that stores the most',
    ),
  // what is trained there must be sampled at temperature 1
  ...TrainingEngineConfig.pick({ trainingEngine: true }).shape,
});
export type ServingConfig = z.output<typeof ServingConfig>;
