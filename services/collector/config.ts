import { z } from 'zod';
import {
  type DistillationForm,
  type LearningMethod,
  type TrainingSettings,
  trainingSettings,
} from '../../shared/events/training-settings.ts';
import { defaultTrainingSettings, largestBatch } from '../../shared/policy/training-defaults.ts';
import { CommonConfig } from '../../shared/service/config.ts';
import type { AssembleSettings } from './assemble.ts';
import type { AttributeSettings } from './attribute.ts';
import type { SubmitSettings } from './submit.ts';

/** Longest span that a timer of Node takes, ms. */
const longestTimer = 2_000_000_000;

/**
 * Settings of a step: what is left out follows from the model and from what is trained
 * (shared/policy/training-defaults.ts).
 */
const TrainingConfig = described(trainingSettings.omit({ training: true, rules: true }).partial());

/** An optional field does not show the description of the field inside. */
function described<Schema extends z.ZodObject>(schema: Schema): Schema {
  const fields = Object.entries(schema.shape as Record<string, z.ZodOptional<z.ZodType>>);
  const shape = fields.map(([name, field]) => [
    name,
    field.describe(`${field.unwrap().description}; follows from the model unless told`),
  ]);
  return z.object(Object.fromEntries(shape)) as unknown as Schema;
}

export const CollectorConfig = CommonConfig.extend({
  batchSize: z.int().min(1).max(4096).optional().describe('samples per batch; 2 for claw-nano, else 4'),
  maxBatchSize: z
    .int()
    .min(1)
    .max(32_768)
    .optional()
    .describe(
      'samples of a batch that has to take more than batchSize, so that none that waits grows too old; 8 times batchSize',
    ),
  maxStaleness: z
    .int()
    .min(0)
    .optional()
    .describe('steps along the lineage that a sample may be behind the head; 4 unless told'),
  maxShare: z
    .number()
    .gt(0)
    .max(1)
    .default(0.5)
    .describe(
      'of a batch, at most for one session and for one access key while others have samples waiting; 1: no limit',
    ),
  wishPatience: z
    .int()
    .min(0)
    .max(10_000)
    .default(12)
    .describe(
      'corrections of one person for the same wish, with next to no praise among them, after which the wish is set aside; ' +
        '0: never, and a later wish does not outrank an earlier one that it contradicts',
    ),
  standingWishes: z
    .boolean()
    .default(true)
    .describe(
      'samples teach the wishes, too, that were told before under the same access key and still stand; with wishPatience 0: none do',
    ),
  atLeastOne: z
    .boolean()
    .default(true)
    .describe('a session without an effective sample contributes the turn with the largest mean vote'),
  adapterMethods: z
    .string()
    .regex(/^(?:[^=,\s]+=(?:binary|opd|combine)(?:,(?!$)|$))*$/, 'give name=method, separated by commas')
    .default('')
    .describe('method of single adapters: name=method, separated by commas; the others take method'),
  adapterDistillation: z
    .string()
    .regex(/^(?:[^=,\s]+=(?:sampled|topk|overlap)(?:,(?!$)|$))*$/, 'give name=form, separated by commas')
    .default('')
    .describe(
      'distillation of single adapters: name=form, separated by commas; the others take distillation',
    ),
  carryDiscount: z
    .number()
    .min(0)
    .max(1)
    .default(0.7)
    .describe(
      "of a person's verdict on an answer, at each call of a tool before it that it is carried back over; 0: it is not",
    ),
  idleMs: z
    .int()
    .min(10)
    .default(6 * 3_600_000)
    .describe('ms without an event after which a session ends; a reply after that is no evidence any more'),
  sessionTimeout: z
    .number()
    .min(0.01)
    .max(2_000_000)
    .default(3600)
    .describe('s without an event after which a session ends that is settled by reward (idleMs: any other)'),
  turnDiscount: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('of the returns along the conversation tree of a session that is settled by reward'),
  waitedMs: z
    .int()
    .min(10)
    .optional()
    .describe(
      'ms that samples wait for a full batch, then a smaller one will do; 8 hours unless told, with claw-nano they wait',
    ),
  sweepMs: z.int().min(10).max(longestTimer).default(10_000).describe('ms between two looks at the timers'),
  owedIntervalMs: z
    .int()
    .min(10)
    .max(longestTimer)
    .default(60_000)
    .describe('ms between two looks at everything that is open'),
  healthPort: z.int().min(0).max(65_535).default(8701).describe('port of /healthz, /readyz and /metrics'),
  ...TrainingConfig.shape,
});
export type CollectorConfig = z.output<typeof CollectorConfig>;

/** The rules in force for `submit`. They are committed with the position at which they take effect. */
export function submitSettings(config: CollectorConfig): SubmitSettings {
  const defaults = defaultTrainingSettings(config.model, config.training);
  const given = TrainingConfig.parse(config);
  const told = Object.entries(given).filter(([, value]) => value !== undefined);
  const training: TrainingSettings = { ...defaults.settings, ...Object.fromEntries(told) };
  const size = config.batchSize ?? defaults.batchSize;
  return {
    size,
    most: config.maxBatchSize ?? largestBatch(size),
    maxStaleness: config.maxStaleness ?? defaults.maxStaleness,
    share: config.maxShare,
    ...(config.wishPatience === 0 ? {} : { wishPatience: config.wishPatience }),
    ...(config.standingWishes ? { standingWishes: true } : {}),
    training,
    adapterMethods: adapterMethods(config),
    adapterDistillation: byAdapter<DistillationForm>(config.adapterDistillation),
  };
}

/** ms that samples wait for a full batch; undefined: for as long as it takes. */
export const waitOf = ({ waitedMs, model, training }: CollectorConfig): number | undefined =>
  waitedMs ?? defaultTrainingSettings(model, training).waitedMs;

/** The rules in force for `attribute`. */
export const attributeSettings = ({ turnDiscount }: CollectorConfig): AttributeSettings => ({
  turnDiscount,
  atOnce: true,
  firstEdits: true,
  clients: true,
  rewardedAreMain: true,
  tellsOpened: true,
});

/** The rules in force for `assemble`. */
export function assembleSettings(config: CollectorConfig): AssembleSettings {
  const { training } = submitSettings(config);
  const { atLeastOne, carryDiscount } = config;
  const { method } = training;
  return { atLeastOne, revises: true, carryDiscount, method, adapterMethods: adapterMethods(config) };
}

const adapterMethods = (config: CollectorConfig) => byAdapter<LearningMethod>(config.adapterMethods);

/** `name=value,...`, whose values the schema has checked. */
const byAdapter = <Value extends string>(pairs: string): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    pairs
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => pair.split('=') as [string, Value]),
  );
