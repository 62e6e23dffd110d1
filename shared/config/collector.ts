import { z } from 'zod';
import { distillationForm, learningMethod, trainingSettings } from '../events/training-settings.ts';
import { agesOf, sizesOf } from '../retention/limits.ts';
import { CommonConfig } from './common.ts';
import { TrainingEngineConfig } from './training-server.ts';

/** Longest span that a Node timer accepts, ms. */
const longestTimer = 2_000_000_000;

/**
 * Settings of a step. Defaults depend on the model and the kind of training
 * (shared/policy/train/training-defaults.ts).
 */
export const TrainingConfig = described(trainingSettings.omit({ training: true, rules: true }).partial());

/** Copies each field's description, because an optional field hides that of the field inside. */
function described<Schema extends z.ZodObject>(schema: Schema): Schema {
  const fields = Object.entries(schema.shape as Record<string, z.ZodOptional<z.ZodType>>);
  const shape = fields.map(([name, field]) => [
    name,
    field.describe(`${field.unwrap().description}; default depends on the model`),
  ]);
  return z.object(Object.fromEntries(shape)) as unknown as Schema;
}

/** A list `name=value,...`, and the message for other text. */
function pairsOf(what: string, values: readonly string[]): [RegExp, string] {
  const list = new RegExp(`^(?:[^=,\\s]+=(?:${values.join('|')})(?:,(?!$)|$))*$`);
  return [list, `expected name=${what}, separated by commas; ${what}: ${values.join(', ')}`];
}

export const CollectorConfig = CommonConfig.extend({
  batchSize: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe('samples per batch; default 2 for claw-nano, otherwise 4'),
  maxBatchSize: z
    .int()
    .min(1)
    .max(32_768)
    .optional()
    .describe('largest batch, used if samples would otherwise grow too old; default 8 times batchSize'),
  maxStaleness: z
    .int()
    .min(0)
    .optional()
    .describe('versions that a sample may be behind the head; default 4'),
  maxShare: z
    .number()
    .gt(0)
    .max(1)
    .default(0.5)
    .describe(
      'largest share of a batch for one session and for one access key while others have samples waiting; 1: no limit',
    ),
  wishPatience: z
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe(
      'corrections of one person for the same wish, almost without praise, after which the wish is set aside; default 12 with claw-nano, 48 with another model; 0: never, and a later wish does not replace an earlier wish that it contradicts',
    ),
  standingWishes: z
    .boolean()
    .default(true)
    .describe(
      'samples also teach earlier wishes of the same access key that still stand; with wishPatience 0 none do',
    ),
  conflictAnchor: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe(
      'least teacherAnchor of a batch while stated wishes keep contradicting earlier ones, three times in 24 verdicts; 0: no effect, and with wishPatience 0 none',
    ),
  conflictRate: z
    .number()
    .gt(0)
    .max(1)
    .default(0.5)
    .describe(
      'factor on the learningRate of a batch while stated wishes keep contradicting earlier ones, three times in 24 verdicts; 1: no effect, and with wishPatience 0 none',
    ),
  autoRollback: z
    .boolean()
    .default(true)
    .describe('a version whose answers get clearly more bad verdicts than those before it is rolled back'),
  rollbackAlpha: z
    .number()
    .gt(0)
    .max(0.5)
    .default(0.01)
    .describe(
      'largest chance, per promotion, of an automatic rollback although the rate of bad verdicts is the same',
    ),
  rollbackMargin: z
    .number()
    .min(0)
    .max(0.9)
    .default(0)
    .describe('rise in the rate of bad verdicts that is tolerated without a rollback'),
  rollbackPause: z
    .int()
    .min(1)
    .default(3)
    .describe('automatic rollbacks within twenty batches after which learning pauses'),
  canaryMargin: z
    .number()
    .gt(0)
    .max(0.9)
    .default(0.1)
    .describe(
      'a canary whose rate of bad verdicts is surely not higher than that of its parent by this much is promoted',
    ),
  canaryTurns: z
    .int()
    .min(1)
    .default(200)
    .describe(
      'verdicts on a canary after which it is promoted unless its rate of bad verdicts is higher by the margin',
    ),
  canaryHours: z
    .number()
    .positive()
    .default(72)
    .describe('hours after which the same rule decides about a canary with fewer verdicts'),
  atLeastOne: z
    .boolean()
    .default(true)
    .describe('a session without an effective sample contributes its turn with the largest mean vote'),
  adapterMethods: z
    .string()
    .regex(...pairsOf('method', learningMethod.options))
    .default('')
    .describe('methods of single adapters: name=method, separated by commas; the others use method'),
  adapterDistillation: z
    .string()
    .regex(...pairsOf('form', distillationForm.options))
    .default('')
    .describe('distillation of single adapters: name=form, separated by commas; the others use distillation'),
  carryDiscount: z
    .number()
    .min(0)
    .max(1)
    .default(0.7)
    .describe(
      "factor per tool call by which a person's verdict on an answer is carried back to the calls before it; 0: not carried back",
    ),
  idleMs: z
    .int()
    .min(10)
    .default(6 * 3_600_000)
    .describe('ms without an event after which a session ends; a later reply is no longer evidence'),
  sessionTimeout: z
    .number()
    .min(0.01)
    .max(2_000_000)
    .default(3600)
    .describe('s without an event after which a rewarded session ends (other sessions: idleMs)'),
  turnDiscount: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('discount per turn of returns along the conversation tree of a rewarded session'),
  waitedMs: z
    .int()
    .min(10)
    .optional()
    .describe(
      'ms that samples wait for a full batch before a smaller batch is formed; default 8 hours, for claw-nano no limit',
    ),
  sweepMs: z.int().min(10).max(longestTimer).default(10_000).describe('ms between checks of the timers'),
  owedIntervalMs: z
    .int()
    .min(10)
    .max(longestTimer)
    .default(60_000)
    .describe('ms between checks of all open work'),
  keep: z
    .string()
    .refine(
      (text) => text === '' || agesOf(text) !== undefined,
      'must be an age, such as 90d or conversations=90d,turns=30d',
    )
    .default('')
    .describe(
      'age after which records of conversations and turns are removed unless they are needed: 90d, or conversations=90d,turns=30d; default: keep all',
    ),
  keepBytes: z
    .string()
    .refine((text) => text === '' || sizesOf(text) !== undefined, 'must be a size, such as 20gb or turns=5gb')
    .default('')
    .describe(
      'size of conversations and of turns above which their oldest records are removed unless they are needed: 20gb, or conversations=20gb,turns=5gb; default: keep all',
    ),
  trimMs: z
    .int()
    .min(10)
    .max(longestTimer)
    .default(6 * 3_600_000)
    .describe('ms between removals of old records, with --keep or --keep-bytes'),
  healthPort: z.int().min(0).max(65_535).default(8701).describe('port of /healthz, /readyz and /metrics'),
  ...TrainingEngineConfig.shape,
  ...TrainingConfig.shape,
});
export type CollectorConfig = z.output<typeof CollectorConfig>;
