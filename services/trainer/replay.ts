import { ConfigError, helpText, loadConfig } from '../../shared/config/common.ts';
import { TrainerConfig, threadsOf } from '../../shared/config/trainer.ts';
import { findModelHere } from '../../shared/hub/find-model.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { isStoreUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { modelDigest } from '../../shared/policy/model/model-digest.ts';
import { loadPolicy } from '../../shared/policy/model/policy.ts';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { openCheckpoints } from '../../shared/runtime/open-checkpoints.ts';
import { logExists, openLog } from '../../shared/runtime/open-log.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/runtime/refusal.ts';
import { baseMismatch } from './base-mismatch.ts';
import { isOfServer, runtimeFingerprint } from './fingerprint.ts';
import { localEngine } from './local-engine.ts';
import { openServerRunner } from './remote/open-server-runner.ts';
import { replayOnServer } from './remote/replay-on-server.ts';
import { type Replayed, replayVersion, type TrainedVersion, trainedVersions } from './replay-step.ts';
import { loadSpeech } from './speech.ts';
import { loadTeacherModel } from './teacher-model.ts';

/**
 * `clawloop replay`: trains every version again from the log and compares digests. Writes nothing. Exit 1 on
 * a difference. With a training server, trains its versions there and compares adapters within bounds.
 */

const say = (line: string) => void process.stdout.write(`${line}\n`);

if (process.argv.some((word) => word === '--help' || word === '-h')) {
  say(helpText('trainer', TrainerConfig, 'replay'));
  process.exit(0);
}
process.exitCode = await replay().catch((error: unknown) => {
  process.stderr.write(`clawloop replay: ${reasonOf(error)}\n`);
  return REFUSED_EXIT_CODE;
});

/** An unexpected error is printed with its stack. */
function reasonOf(error: unknown): string {
  if (error instanceof ConfigError) return `${error.message}; see clawloop replay --help`;
  const { message, stack = message } = error as Error;
  const isPlain = isRefusal(error) || isLogError(error, 'LogUnavailable') || isStoreUnavailable(error);
  return isPlain ? message : stack;
}

async function replay(): Promise<number> {
  const config = loadConfig('trainer', TrainerConfig).values;
  const data = dataFolder(config.dataFolder);
  if (!logExists(config, data)) throw new ConfigError(`no log in ${data.root}; pass --data-folder`);
  const checkpoints = openCheckpoints(config, data);
  const log = await openLog(config, data);
  try {
    const versions = await trainedVersions(log);
    if (versions.length === 0) {
      say('no version has been trained yet');
      return 0;
    }
    const folder = folderOf(config, config.model);
    const base = { model: config.model, digest: await modelDigest(folder) };
    const onOtherBases = await versionsOnOtherBases(versions, base, checkpoints.storeOf);
    const sources = { log, storeOf: checkpoints.storeOf };
    const { here, again } = await (config.trainingEngine === 'local'
      ? replayHere(config, folder, sources)
      : replayThere(config, folder, { ...sources, usedTokens: data.usedTokens }));
    say(`runtime: ${here}`);
    const counts = { same: 0, close: 0, different: 0, 'not-covered': 0 };
    for (const version of versions) {
      const { adapter, version: n, fingerprint: runtime } = version.trained;
      const why = onOtherBases.get(version);
      const replayed: Replayed =
        why === undefined ? await again(version) : { adapter, version: n, runtime, kind: 'not-covered', why };
      counts[replayed.kind] += 1;
      say(lineOf(replayed, here));
    }
    say(
      `${versions.length} versions in the log, ${versions.length - counts['not-covered']} replayed: ` +
        `${counts.same} same, ${counts.close === 0 ? '' : `${counts.close} close, `}${counts.different} different, ${counts['not-covered']} not covered`,
    );
    return counts.different === 0 ? 0 : 1;
  } finally {
    await log.close();
    await checkpoints.close();
  }
}

function folderOf(config: TrainerConfig, model: string): string {
  const found = findModelHere({ ...config, model });
  if (found === undefined)
    throw new ConfigError(`model ${model} is not installed; run: clawloop model fetch ${model}`);
  return found;
}

type Sources = { readonly log: EventLog; readonly storeOf: (adapter: string) => CheckpointStore };
type Replay = {
  /** fingerprint */
  readonly here: string;
  readonly again: (version: TrainedVersion) => Promise<Replayed>;
};

async function replayHere(config: TrainerConfig, folder: string, sources: Sources): Promise<Replay> {
  const executor = await openBackend(config.backend, { threads: threadsOf(config) });
  const source = await openCheckpoint(folder);
  const policy = await loadPolicy(source, executor);
  const engine = localEngine(
    policy,
    await loadPromptWriter(folder),
    (model) => loadTeacherModel(folderOf(config, model), folder, executor),
    await loadSpeech(folder, source),
  );
  return {
    here: runtimeFingerprint(executor),
    again: (version) => replayVersion(version, { ...sources, engine }),
  };
}

async function replayThere(
  config: TrainerConfig,
  modelFolder: string,
  { usedTokens, ...sources }: Sources & { readonly usedTokens: string },
): Promise<Replay> {
  const logger = createLogger('replay', 'warn', process.stderr);
  const signal = new AbortController().signal;
  const place = { modelFolder, usedTokens, logger, onWaiting: () => {}, signal };
  const runner = await openServerRunner(config, place);
  const { fingerprint: here } = await runner.open();
  return {
    here,
    again: async (version) => {
      const { adapter, version: n, fingerprint: runtime } = version.trained;
      if (isOfServer(runtime)) return replayOnServer(version, { ...sources, runner });
      const why = 'it was trained on this machine; run clawloop replay without --training-engine';
      return { adapter, version: n, runtime, kind: 'not-covered', why };
    },
  };
}

/** The versions that were trained on another base model than the loaded one, and why. */
async function versionsOnOtherBases(
  versions: readonly TrainedVersion[],
  base: { readonly model: string; readonly digest: string },
  storeOf: (adapter: string) => CheckpointStore,
): Promise<ReadonlyMap<TrainedVersion, string>> {
  const reasons = new Map<TrainedVersion, string>();
  for (const [adapter, ofAdapter] of Map.groupBy(versions, ({ trained }) => trained.adapter)) {
    const kept = await storeOf(adapter).list();
    const states = new Map(kept.map(({ name, state }) => [name, state]));
    // If all kept checkpoints have another model, a version without a checkpoint has that one, too.
    const others = kept.every(({ state }) => state.model !== base.model && baseMismatch(state, base));
    const removedState = others ? kept[0]?.state : undefined;
    for (const version of ofAdapter) {
      const state = states.get(version.trained.checkpoint) ?? removedState;
      const reason = state && baseMismatch(state, base);
      if (reason !== undefined) reasons.set(version, reason);
    }
  }
  return reasons;
}

function lineOf(replayed: Replayed, here: string): string {
  const name = `${replayed.adapter} v${replayed.version}`.padEnd(16);
  const note = replayed.runtime === here ? '' : `  (trained on another runtime: ${replayed.runtime})`;
  switch (replayed.kind) {
    case 'same':
      return `${name} same       ${replayed.digest}${note}`;
    case 'close':
      return `${name} close      ${replayed.apart.toPrecision(2)} of the step apart${note}`;
    case 'different':
      return `${name} DIFFERENT  ${replayed.digest}, expected ${replayed.expected} from the log${note}`;
    case 'not-covered':
      return `${name} not covered: ${replayed.why}`;
  }
}
