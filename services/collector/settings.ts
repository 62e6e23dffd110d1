import { type CollectorConfig, TrainingConfig } from '../../shared/config/collector.ts';
import { trainingPlace } from '../../shared/config/training-server.ts';
import type {
  DistillationForm,
  LearningMethod,
  TrainingSettings,
} from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import {
  defaultTrainingSettings,
  largestBatch,
  serverTrainingSettings,
} from '../../shared/policy/train/training-defaults.ts';
import { dialects } from '../../shared/tinker/dialects.ts';
import { unsupportedAdam, unsupportedSettings } from '../../shared/tinker/unsupported-settings.ts';
import type {
  AssembleSettings,
  AttributeSettings,
  CanarySettings,
  SubmitSettings,
  WatchSettings,
} from './fold-settings.ts';

/** The settings of `submit`. They are committed with the position at which they take effect. */
export function submitSettings(config: CollectorConfig): SubmitSettings {
  const defaults = defaultTrainingSettings(config.model, config.training);
  const given = TrainingConfig.parse(config);
  const configured = Object.entries(given).filter(([, value]) => value !== undefined);
  const server = serverOf(config);
  const usual =
    server === undefined || config.training === 'full'
      ? defaults.settings
      : serverTrainingSettings(config.model, server.capabilities);
  const training: TrainingSettings = { ...usual, ...Object.fromEntries(configured) };
  const size = config.batchSize ?? defaults.batchSize;
  const patience = config.wishPatience ?? defaults.wishPatience;
  return {
    size,
    most: config.maxBatchSize ?? largestBatch(size),
    maxStaleness: config.maxStaleness ?? defaults.maxStaleness,
    share: config.maxShare,
    ...defined({
      wishPatience: patience === 0 ? undefined : patience,
      standingWishes: config.standingWishes ? true : undefined,
      wishRules: patience === 0 ? undefined : 2,
      conflictAnchor: config.conflictAnchor === 0 ? undefined : config.conflictAnchor,
      conflictRate: config.conflictRate === 1 ? undefined : config.conflictRate,
      watch: config.autoRollback ? watchSettings(config) : undefined,
      canary: training.canaryShare > 0 ? canarySettings(config) : undefined,
    }),
    training,
    adapterMethods: adapterMethods(config),
    adapterDistillation: byAdapter<DistillationForm>(config.adapterDistillation),
  };
}

/** The kind of training server; undefined: the trainer computes itself. */
function serverOf(config: CollectorConfig) {
  if (config.trainingEngine === 'local') return undefined;
  const { dialect } = trainingPlace(config);
  return { dialect, capabilities: dialects[dialect].capabilities };
}

/** Why the training server cannot train with these settings, for the settings of any adapter; undefined: it can. */
export function serverRefusal(config: CollectorConfig): string | undefined {
  const server = serverOf(config);
  if (server === undefined) return undefined;
  const { training, adapterMethods, adapterDistillation } = submitSettings(config);
  const adapters = new Set([...Object.keys(adapterMethods ?? {}), ...Object.keys(adapterDistillation ?? {})]);
  const all = [...adapters].map((adapter) => ({
    ...training,
    method: adapterMethods?.[adapter] ?? training.method,
    distillation: adapterDistillation?.[adapter] ?? training.distillation,
  }));
  for (const settings of [training, ...all]) {
    const refusal = unsupportedSettings(settings, server);
    if (refusal !== undefined) return refusal;
  }
  return unsupportedAdam(training, server);
}

const watchSettings = ({ rollbackAlpha, rollbackMargin, rollbackPause }: CollectorConfig): WatchSettings => ({
  alpha: rollbackAlpha,
  margin: rollbackMargin,
  pauseAfter: rollbackPause,
});

const canarySettings = ({
  rollbackAlpha,
  canaryMargin,
  canaryTurns,
  canaryHours,
}: CollectorConfig): CanarySettings => ({
  alpha: rollbackAlpha,
  margin: canaryMargin,
  turns: canaryTurns,
  hours: canaryHours,
  correctsStart: true,
});

/** ms that samples wait for a full batch; undefined: no limit. */
export const fullBatchWaitMs = ({ waitedMs, model, training }: CollectorConfig): number | undefined =>
  waitedMs ?? defaultTrainingSettings(model, training).waitedMs;

/** The settings of `attribute`. */
export const attributeSettings = ({ turnDiscount }: CollectorConfig): AttributeSettings => ({
  turnDiscount,
  atOnce: true,
  firstEdits: true,
  clients: true,
  rewardedAreMain: true,
  tellsOpened: true,
  namesVersion: true,
  keepsDeletions: true,
  lastAnswerAlone: true,
  laterEdits: true,
});

/** The settings of `assemble`. */
export function assembleSettings(config: CollectorConfig): AssembleSettings {
  const { training } = submitSettings(config);
  const { atLeastOne, carryDiscount } = config;
  const { method } = training;
  return {
    atLeastOne,
    revises: true,
    withdrawsSpent: true,
    sweepsAtClose: true,
    datesSamples: true,
    carriesRevised: true,
    recordsVerdicts: true,
    carryDiscount,
    method,
    adapterMethods: adapterMethods(config),
  };
}

const adapterMethods = (config: CollectorConfig) => byAdapter<LearningMethod>(config.adapterMethods);

/** Parses `name=value,...`. The schema has already checked the values. */
const byAdapter = <Value extends string>(pairs: string): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    pairs
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => pair.split('=') as [string, Value]),
  );
