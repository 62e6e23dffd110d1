import { z } from 'zod';
import { CommonConfig } from './common.ts';
import { configuredKey } from './configured-key.ts';
import { QueueConfig } from './queue.ts';

const address = z.url({ protocol: /^https?$/ });
/** `up` does not know a health port that the system chooses. */
const addressIfKnown = address.or(z.literal('unknown'));

export const ConsoleConfig = CommonConfig.extend({
  host: z.string().default('127.0.0.1').describe('address of the console; beyond loopback a key is required'),
  port: z.int().min(0).max(65_535).default(8704).describe('port of the console; 0: any free port'),
  apiKey: configuredKey
    .optional()
    .describe(
      "an operator's key in addition to those of `clawloop keys create NAME --operator`, 16 characters or more; `up` passes serving's",
    ),
  apiKeyFile: z.string().optional().describe('file that contains this key'),
  servingUrl: address
    .default('http://127.0.0.1:8700')
    .describe('address of serving, which answers the chats of the console and records its actions'),
  publicUrl: address
    .optional()
    .describe('address of serving as clients reach it, for the settings to copy; default servingUrl'),
  collectorUrl: addressIfKnown
    .default('http://127.0.0.1:8701')
    .describe("address of the collector's health port, or unknown"),
  judgeUrl: addressIfKnown
    .default('http://127.0.0.1:8702')
    .describe("address of the judge's health port, or unknown"),
  trainerUrl: addressIfKnown
    .default('http://127.0.0.1:8703')
    .describe("address of the trainer's health port, or unknown"),
  queue: QueueConfig.shape.queue,
  refreshMs: z
    .int()
    .min(50)
    .max(60_000)
    .default(500)
    .describe('ms between two updates of an open page; new records are read at this pace'),
  mostListeners: z
    .int()
    .min(1)
    .default(100)
    .describe('pages that may follow at the same time; more get 429 with Retry-After'),
});
export type ConsoleConfig = z.output<typeof ConsoleConfig>;
