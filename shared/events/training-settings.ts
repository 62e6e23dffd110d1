import { z } from 'zod';

export const learningMethod = z.enum(['binary', 'opd', 'combine']);
export type LearningMethod = z.output<typeof learningMethod>;

export const distillationForm = z.enum(['sampled', 'topk', 'overlap']);
export type DistillationForm = z.output<typeof distillationForm>;

export const trainingKind = z.enum(['lora', 'full']);
export type TrainingKind = z.output<typeof trainingKind>;

const klEstimator = z.enum(['k2', 'k3']);

/** All settings of a step. The batch contains them, so a step depends only on parent checkpoint and batch. */
export const trainingSettings = z.object({
  rules: z
    .int()
    .min(1)
    .max(4)
    .describe(
      'rules by which a batch is formed and trained: 4; 1 to 3 are rules of earlier versions, only for their batches',
    ),
  method: learningMethod.describe('what the loss learns from: verdicts, hints, or both'),
  verdictWeight: z
    .number()
    .min(0)
    .describe("combine: weight of the advantage of a vote or of feedback; a reward's weight is 1"),
  hintWeight: z.number().min(0).describe("opd, combine: weight of the teacher's gap"),
  gapClip: z.number().positive().describe("opd, combine: the teacher's gap is clipped to +- this, nats"),
  teacher: z
    .string()
    .min(1)
    .describe(
      'opd, combine: who reads the hint: current (the parent version), base, or another model by folder or hub id',
    ),
  teacherAnchor: z
    .number()
    .min(0)
    .max(1)
    .describe(
      'teacher current: share of the base in the teacher; above 0, a repeated hint comes to rest at 1 / teacherAnchor times its effect on the base',
    ),
  hintCheck: z
    .boolean()
    .describe(
      'opd, combine: a hint teaches only if it works as intended: shown by answers of the base with and without it, or by the criticised answer, which it must make less likely',
    ),
  ownWordsWeight: z
    .number()
    .min(0)
    .max(1)
    .describe("with hintCheck: weight of a hint in a person's own words; a known wish has 1"),
  hintedComplaintWeight: z
    .number()
    .min(0)
    .max(1)
    .describe(
      'combine: factor on the verdict of a complaint whose hint teaches with weight 1; the verdict alone blames every token, also those about the subject',
    ),
  training: trainingKind.describe('what is trained: an adapter (lora), or every weight of the model (full)'),
  distillation: distillationForm.describe(
    "opd, combine: what is learned from the teacher at each position: the sampled token, its topK likeliest tokens and the rest (topk), or the policy's own topK, with the hint that agrees most with them (overlap)",
  ),
  topK: z.int().min(1).max(1024).describe('distillation topk, overlap: tokens per position'),
  forwardKl: z
    .number()
    .min(0)
    .max(1)
    .describe(
      'distillation topk: share of KL(teacher || policy) in the loss, beside KL(policy || teacher), which barely moves a policy that is sure',
    ),
  learningRate: z.number().positive().describe('learning rate of AdamW, per minibatch'),
  warmUpSteps: z
    .int()
    .min(0)
    .optional()
    .describe(
      'optimizer steps, over all versions, in which the learning rate rises to its full value; 0: none',
    ),
  rank: z.int().min(1).describe('LoRA rank'),
  alpha: z.number().positive().describe('LoRA alpha: the scale is alpha / rank'),
  minibatches: z.int().min(1).describe('disjoint minibatches of a batch, one optimizer step each'),
  epochs: z.int().min(1).describe('passes over the batch per step'),
  microbatchTokens: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe('tokens per gradient computation, padding included; fewer need less memory; absent: 4096'),
  clipLow: z.number().describe('ratio is clipped to 1 - clipLow below'),
  clipHigh: z.number().describe('ratio is clipped to 1 + clipHigh above'),
  fade: z
    .number()
    .gt(0)
    .max(1)
    .describe(
      "factor of a sample's weight for each later sample of the same person in its batch; 1: all weigh the same",
    ),
  stalenessCap: z.number().positive().describe('upper bound of exp(prox - behavior)'),
  mean: z
    .enum(['sample', 'token'])
    .describe('reduction of the loss: mean over samples of their token means, or mean over all tokens'),
  baseline: z.boolean().describe('subtract a running mean of verdicts'),
  baselineDecay: z.number().min(0).max(1).describe('decay of the running mean, per sample'),
  leastBaseline: z
    .number()
    .min(-1)
    .max(0)
    .describe(
      "lowest value that a person's verdict is compared with: answers without comment are better than those complained about; -1: no bound",
    ),
  klCoefficient: z.number().min(0).describe('weight of KL to the base policy'),
  klEstimator: klEstimator.describe(
    'form of the KL: k2, whose gradient is that of KL(policy || base), or k3, whose gradient is that of KL(base || policy)',
  ),
  gradientClip: z.number().positive().describe('largest global gradient norm'),
  weightDecay: z.number().min(0).describe('of AdamW, decoupled; for an adapter only its B'),
  beta1: z.number().describe('AdamW: decay of the mean of gradients'),
  beta2: z.number().describe('AdamW: decay of the mean of their squares; on a SkyRL server 0.95'),
  epsilon: z.number().describe('AdamW: added to the root of the mean square'),
  rehearsal: z
    .int()
    .min(0)
    .max(64)
    .describe(
      "requests with a wish, and the base's answers, that each step learns again beside its batch; 0: none",
    ),
  rehearsalWeight: z
    .number()
    .min(0)
    .describe(
      'weight of rehearsed requests beside the batch; each is first clipped to the largest gradient norm',
    ),
  rehearsalBound: z
    .number()
    .min(0)
    .optional()
    .describe(
      'nats: KL to the base on rehearsed requests above which a step moves no farther from it there; with it nothing is added by weight; absent: no bound',
    ),
  gateMeanKl: z
    .number()
    .positive()
    .describe('maximum mean KL of a candidate to its parent on its batch, nats per token'),
  gateBaseKl: z
    .number()
    .positive()
    .optional()
    .describe(
      "largest mean KL of a candidate to the base on its batch, nats per token, unless it is below its parent's; absent: no bound",
    ),
  gateContent: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'how far the probability that the base matches an answer to its request may fall; the share of tokens that it finds absurd may rise by half of it; absent: not checked',
    ),
  gateAbsurd: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'how far the share of absurd answers may rise: short answers, one to each of many requests, with a token that the base finds absurd; absent: not checked',
    ),
  gateCollapse: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'how far the share of different answers may fall, and that of repeated runs of tokens rise; the share that ends may fall by twice that; with any value the entropy stays within a factor of 5; absent: not checked',
    ),
  gateSteerability: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('how far the share of answers that meet a wish in the request may fall; absent: not checked'),
  gateLeastScale: z
    .number()
    .min(1 / 1024)
    .max(1)
    .describe(
      'a step beyond a bound of the gate is shortened, in eighths and then by halves, to no less than this part before it is rejected; 1: rejected at once',
    ),
  canaryShare: z
    .number()
    .min(0)
    .max(0.5)
    .describe(
      'share of the sessions that a candidate answers until their verdicts decide about it; 0: it is promoted at once',
    ),
});
/** Settings in the log and in checkpoints. Settings that older ones lack get the behaviour of that time. */
export const recordedTrainingSettings = trainingSettings.extend({
  rules: trainingSettings.shape.rules.default(1),
  training: trainingSettings.shape.training.default('lora'),
  verdictWeight: trainingSettings.shape.verdictWeight.default(1),
  hintWeight: trainingSettings.shape.hintWeight.default(1),
  gapClip: trainingSettings.shape.gapClip.default(1),
  teacher: trainingSettings.shape.teacher.default('current'),
  distillation: trainingSettings.shape.distillation.default('sampled'),
  topK: trainingSettings.shape.topK.default(4),
  forwardKl: trainingSettings.shape.forwardKl.default(0),
  epochs: trainingSettings.shape.epochs.default(1),
  leastBaseline: trainingSettings.shape.leastBaseline.default(-1),
  teacherAnchor: trainingSettings.shape.teacherAnchor.default(0),
  gateLeastScale: trainingSettings.shape.gateLeastScale.default(1),
  fade: trainingSettings.shape.fade.default(1),
  klEstimator: trainingSettings.shape.klEstimator.default('k3'),
  canaryShare: trainingSettings.shape.canaryShare.default(0),
  rehearsal: trainingSettings.shape.rehearsal.default(0),
  rehearsalWeight: trainingSettings.shape.rehearsalWeight.default(1),
  hintCheck: trainingSettings.shape.hintCheck.default(false),
  ownWordsWeight: trainingSettings.shape.ownWordsWeight.default(1),
  hintedComplaintWeight: trainingSettings.shape.hintedComplaintWeight.default(1),
});
export type TrainingSettings = z.output<typeof trainingSettings>;
