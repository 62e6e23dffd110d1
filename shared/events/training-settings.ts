import { z } from 'zod';

export const learningMethod = z.enum(['binary', 'opd', 'combine']);
export type LearningMethod = z.output<typeof learningMethod>;

export const distillationForm = z.enum(['sampled', 'topk', 'overlap']);
export type DistillationForm = z.output<typeof distillationForm>;

export const trainingKind = z.enum(['lora', 'full']);
export type TrainingKind = z.output<typeof trainingKind>;

export const klEstimator = z.enum(['k2', 'k3']);

/**
 * All settings of one step. They stand in the batch, so that a step is a function of parent checkpoint and
 * batch alone.
 */
export const trainingSettings = z.object({
  rules: z
    .int()
    .min(1)
    .max(3)
    .describe(
      'rules by which a batch is formed and trained: 3; 1 and 2 are those of earlier versions, for their batches alone',
    ),
  method: learningMethod.describe('what the loss learns from: verdicts, hints, or both'),
  verdictWeight: z
    .number()
    .min(0)
    .describe("combine: weight of the advantage of a vote or of feedback; a reward's is 1"),
  hintWeight: z.number().min(0).describe("opd, combine: weight of the teacher's gap"),
  gapClip: z.number().positive().describe("opd, combine: the teacher's gap is clipped to +- this, nats"),
  teacher: z
    .string()
    .min(1)
    .describe(
      'opd, combine: who reads the hint: current (the parent version), base, or another model: its folder or hub id',
    ),
  teacherAnchor: z
    .number()
    .min(0)
    .max(1)
    .describe(
      'teacher current: share of what the base says to the hint in what is taught; above 0 the same hint over and over ' +
        'comes to rest, at 1 / teacherAnchor times its effect on the base',
    ),
  hintCheck: z
    .boolean()
    .describe(
      'opd, combine: a hint teaches only once it is seen to ask for what it is meant to: by answers of the base with it ' +
        'and without, or by the criticised answer, which it must make less likely',
    ),
  ownWordsWeight: z
    .number()
    .min(0)
    .max(1)
    .describe("with hintCheck: weight of a hint in a person's own words, where one of a known wish has 1"),
  training: trainingKind.describe('what is trained: an adapter (lora), or every weight of the model (full)'),
  distillation: distillationForm.describe(
    'opd, combine: what of the teacher is learned at each position: the sampled token, its topK likeliest tokens ' +
      "and the rest (topk), or the policy's own topK, by the hint that agrees most with them (overlap)",
  ),
  topK: z.int().min(1).max(1024).describe('distillation topk and overlap: tokens per position'),
  learningRate: z.number().positive().describe('of AdamW, per minibatch'),
  warmUpSteps: z
    .int()
    .min(0)
    .optional()
    .describe('optimizer steps, over all versions, in which the learning rate rises to its whole; 0: none'),
  rank: z.int().min(1).describe('LoRA rank'),
  alpha: z.number().positive().describe('LoRA alpha: the scale is alpha / rank'),
  minibatches: z.int().min(1).describe('disjoint minibatches of a batch, one optimizer step each'),
  epochs: z.int().min(1).describe('how often a step goes over its batch'),
  microbatchTokens: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'tokens whose gradient is taken at a time, padding included, for less memory; 4096 unless told',
    ),
  clipLow: z.number().describe('ratio is clipped to 1 - clipLow below'),
  clipHigh: z.number().describe('ratio is clipped to 1 + clipHigh above'),
  fade: z
    .number()
    .gt(0)
    .max(1)
    .describe(
      'a sample weighs so much for each later one of the same person in its batch; 1: all weigh alike',
    ),
  stalenessCap: z.number().positive().describe('cap of exp(prox - behavior)'),
  mean: z
    .enum(['sample', 'token'])
    .describe('reduction of the loss: mean over samples of the token mean, or token mean'),
  baseline: z.boolean().describe('subtract a running mean of verdicts'),
  baselineDecay: z.number().min(0).max(1).describe('of the running mean, per sample'),
  leastBaseline: z
    .number()
    .min(-1)
    .max(0)
    .describe(
      "what a person's verdict is compared with at least: answers that nobody says anything of are better than those that are complained of; -1: no bound",
    ),
  klCoefficient: z.number().min(0).describe('weight of KL to the base policy'),
  klEstimator: klEstimator.describe(
    'its form: k2, whose gradient is that of KL(policy || base), or k3, whose gradient is that of KL(base || policy)',
  ),
  gradientClip: z.number().positive().describe('largest global gradient norm'),
  weightDecay: z.number().min(0).describe('of AdamW, decoupled; of an adapter its B alone'),
  beta1: z.number().describe('of AdamW: decay of the mean of gradients'),
  beta2: z.number().describe('of AdamW: decay of the mean of their squares'),
  epsilon: z.number().describe('of AdamW: added to the root of the mean square'),
  rehearsal: z
    .int()
    .min(0)
    .max(64)
    .describe(
      'requests that state a wish, with what the base answers, that each step learns again beside its batch; 0: none',
    ),
  rehearsalWeight: z
    .number()
    .min(0)
    .describe('weight of what is rehearsed, beside the batch, each held to the largest gradient norm first'),
  rehearsalBound: z
    .number()
    .min(0)
    .optional()
    .describe(
      'nats: KL to the base on what is rehearsed, beyond which a step no longer moves farther from it there; nothing is ' +
        'added by weight then; no bound unless told',
    ),
  gateMeanKl: z
    .number()
    .positive()
    .describe('largest mean KL of a candidate to its parent on its batch, nats per token'),
  gateBaseKl: z
    .number()
    .positive()
    .optional()
    .describe(
      "largest mean KL of a candidate to the base on its batch, nats per token, unless it is below its parent's; " +
        'no bound unless told',
    ),
  gateContent: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'by how much the probability that the base finds the request of an answer again may fall; half of it is by how ' +
        'much the share of tokens that it finds absurd may rise; not looked at unless told',
    ),
  gateCollapse: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'by how much the share of different answers may fall, that of repeated runs of tokens rise, and, twice that, the ' +
        'share that ends fall; with any value the entropy stays within a factor of 5; not looked at unless told',
    ),
  gateSteerability: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'by how much the share of answers that meet a wish in the request may fall; not looked at unless told',
    ),
  gateLeastScale: z
    .number()
    .min(0.125)
    .max(1)
    .describe(
      'a step beyond a bound of the gate is shortened, in eighths, to no less than this part before it is rejected; ' +
        '1: it is rejected at once',
    ),
});
/**
 * As they stand in the log and in checkpoints: what older ones do not name was not there when they were made.
 */
export const recordedTrainingSettings = trainingSettings.extend({
  rules: trainingSettings.shape.rules.default(1),
  training: trainingSettings.shape.training.default('lora'),
  verdictWeight: trainingSettings.shape.verdictWeight.default(1),
  hintWeight: trainingSettings.shape.hintWeight.default(1),
  gapClip: trainingSettings.shape.gapClip.default(1),
  teacher: trainingSettings.shape.teacher.default('current'),
  distillation: trainingSettings.shape.distillation.default('sampled'),
  topK: trainingSettings.shape.topK.default(4),
  epochs: trainingSettings.shape.epochs.default(1),
  leastBaseline: trainingSettings.shape.leastBaseline.default(-1),
  teacherAnchor: trainingSettings.shape.teacherAnchor.default(0),
  gateLeastScale: trainingSettings.shape.gateLeastScale.default(1),
  fade: trainingSettings.shape.fade.default(1),
  klEstimator: trainingSettings.shape.klEstimator.default('k3'),
  rehearsal: trainingSettings.shape.rehearsal.default(0),
  rehearsalWeight: trainingSettings.shape.rehearsalWeight.default(1),
  hintCheck: trainingSettings.shape.hintCheck.default(false),
  ownWordsWeight: trainingSettings.shape.ownWordsWeight.default(1),
});
export type TrainingSettings = z.output<typeof trainingSettings>;
