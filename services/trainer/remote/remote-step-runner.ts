import { openCheckpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import { loraShapes } from '../../../shared/policy/model/lora.ts';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import { loadPromptWriter, type PromptWriter } from '../../../shared/policy/text/load-prompt-writer.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { checkConformance } from '../../../shared/tinker/conformance.ts';
import { openTrainingServer } from '../../../shared/tinker/open-training-server.ts';
import type { DialectName, ServerUsage, TrainingServer } from '../../../shared/tinker/training-server.ts';
import { unsupportedSettings } from '../../../shared/tinker/unsupported-settings.ts';
import { serverFingerprint } from '../fingerprint.ts';
import { step } from '../step.ts';
import type { StepRunner } from '../step-runner.ts';
import { countTokens, type StepTokens } from './count-tokens.ts';
import { probeSequence } from './probe.ts';
import { type RemoteOptions, remoteTraining } from './remote-training.ts';
import type { UsedTokensFile } from './used-tokens.ts';

export type RemoteSettings = {
  /** for its tokenizer, template and shape; its weights are not read */
  readonly modelFolder: string;
  readonly url: string;
  readonly dialect: DialectName;
  readonly apiKey: string;
  /** name of the model on the server */
  readonly model: string;
  readonly project: string | undefined;
  readonly budget: number | undefined;
  readonly used: UsedTokensFile;
  readonly logger: Logger;
};

export type RemoteStepRunner = StepRunner & { readonly usage: () => ServerUsage };

/** ms between two notes of the used tokens during a step */
const USAGE_MS = 2_000;

/** Runs steps on a training server, several at a time, in this thread: it only sends and waits. */
export function openRemoteStepRunner(settings: RemoteSettings): RemoteStepRunner {
  const { url, dialect, apiKey, model, project, budget, used, logger } = settings;
  let loaded: Promise<Loaded> | undefined;
  const load = () => {
    loaded ??= loadModel(settings);
    return loaded;
  };
  const fingerprint = serverFingerprint({ dialect, url, model });
  const serverOf = (vocabularySize: number) =>
    openTrainingServer({
      ...{ url, dialect, apiKey, model, project, vocabularySize },
      budgetTokens: budget,
      usedTokens: used.before,
    });
  let server: TrainingServer | undefined;
  let serverTokens: number | undefined;
  const usage = (): ServerUsage =>
    server?.usage() ?? { requests: 0, forwardTokens: 0, trainedTokens: 0, sampledTokens: 0 };
  const note = () => used.write(tokensOf(usage()));
  const place = () => {
    if (server === undefined) throw new Error('the step runner is not open');
    return server;
  };
  return {
    usage,
    open: async () => {
      const { config } = await load();
      server ??= serverOf(config.vocabularySize);
      serverTokens ??= await checkServer(server, config.vocabularySize);
      await note();
      return { report: `training server ${dialect} at ${url}, model ${model}`, fingerprint };
    },
    refusal: (batch, parent) => {
      const found = unsupportedSettings(batch, place());
      if (found !== undefined) return found;
      return parent === undefined || parent.optimizer !== undefined
        ? undefined
        : `v${parent.version} was trained on this machine, and no server takes its adapter; start with --training-engine local`;
    },
    removeState: (path) => place().removeState(path, AbortSignal.timeout(60_000)),
    run: async (input, onProgress, signal, { onState }) => {
      signal.throwIfAborted();
      const { writePrompt, config, probe } = await load();
      const tokens: StepTokens = { scored: 0, trained: 0 };
      const { batchId, adapter } = input.batch;
      const options: RemoteOptions = {
        ...{ url, writePrompt, probe, signal, onState },
        shapesOf: (rank) => loraShapes(config, rank),
        server: countTokens(place(), tokens),
        contextTokens: Math.min(config.maxPositions, serverTokens ?? Number.POSITIVE_INFINITY),
        about: { batch: batchId, adapter, attempt: input.label ?? '' },
      };
      const began = monotonicNow();
      const noting = setInterval(() => void note().catch(() => {}), USAGE_MS);
      try {
        const result = await step(remoteTraining(options), input, onProgress);
        const milliseconds = monotonicNow() - began;
        const counted = { serverTokensScored: tokens.scored, serverTokensTrained: tokens.trained };
        const isCandidate = result.kind === 'candidate';
        return {
          result: isCandidate ? { ...result, metrics: { ...result.metrics, ...counted } } : result,
          ...{ fingerprint, milliseconds, tensors: 0 },
        };
      } finally {
        clearInterval(noting);
        await note();
        logger.info(
          { batch: batchId, ...tokens, used: used.before + tokensOf(usage()), budget },
          'tokens sent',
        );
      }
    },
    close: async () => {
      await server?.close();
      await note();
    },
  };
}

const tokensOf = ({ forwardTokens, trainedTokens, sampledTokens }: ServerUsage): number =>
  forwardTokens + trainedTokens + sampledTokens;

type Loaded = {
  readonly writePrompt: PromptWriter;
  readonly config: ModelConfig;
  readonly probe: RemoteOptions['probe'];
};

async function loadModel({ modelFolder }: RemoteSettings): Promise<Loaded> {
  const writePrompt = await loadPromptWriter(modelFolder);
  const { config } = await openCheckpoint(modelFolder);
  return { writePrompt, config, probe: probeSequence(writePrompt) };
}

/** ms for the checks at start: a server may have to load its model first, and to compile each new shape */
const CHECK_LIMIT_MS = 30 * 60_000;

/** Codes of errors that only the operator can correct. */
const refusals: ReadonlySet<string> = new Set([
  'wrong_key',
  'unknown_model',
  'bad_answer',
  'refused',
  'not_on_this_server',
  'wrong_gradient',
]);

/** @throws Refusal if another setting is needed; other errors of the server, which may pass */
/** @returns how many tokens the server takes, of prompt and response; infinite if it does not say */
async function checkServer(server: TrainingServer, vocabularySize: number): Promise<number> {
  const signal = AbortSignal.timeout(CHECK_LIMIT_MS);
  try {
    const { contextTokens = Number.POSITIVE_INFINITY } = await server.check(signal);
    // A wrong dialect trains without an error, but not what it should.
    await checkConformance(server, { vocabularySize }, signal);
    return contextTokens;
  } catch (error) {
    if (isServiceError(error) && refusals.has(error.code)) throw new Refusal(error.message);
    throw error;
  }
}
