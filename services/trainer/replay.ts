import { findModelHere } from '../../shared/hub/find-model.ts';
import { isLogError } from '../../shared/log/errors.ts';
import { openBackend } from '../../shared/policy/backend.ts';
import { openCheckpoint } from '../../shared/policy/checkpoint.ts';
import { listCheckpoints } from '../../shared/policy/checkpoint-store.ts';
import { loadPromptWriter } from '../../shared/policy/load-prompt-writer.ts';
import { modelDigest } from '../../shared/policy/model-digest.ts';
import { loadPolicy } from '../../shared/policy/policy.ts';
import { ConfigError, helpText, loadConfig } from '../../shared/service/config.ts';
import { dataFolder } from '../../shared/service/data-folder.ts';
import { logExists, openLog } from '../../shared/service/open-log.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/service/refusal.ts';
import { TrainerConfig, threadsOf } from './config.ts';
import { runtimeFingerprint } from './fingerprint.ts';
import { localEngine } from './local-engine.ts';
import { otherBase } from './other-base.ts';
import { type Replayed, replayVersion, type TrainedVersion, trainedVersions } from './replay-step.ts';
import { loadSpeech } from './speech.ts';
import { loadTeacherModel } from './teacher-model.ts';

/**
 * `clawloop replay`: trains every version again from the log and compares digests. Writes nothing. Exit 1 on
 * a difference.
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

/** A fault of ours comes with its stack. */
function reasonOf(error: unknown): string {
  if (error instanceof ConfigError) return `${error.message}; see clawloop replay --help`;
  const { message, stack = message } = error as Error;
  return isRefusal(error) || isLogError(error, 'LogUnavailable') ? message : stack;
}

async function replay(): Promise<number> {
  const config = loadConfig('trainer', TrainerConfig).values;
  const data = dataFolder(config.dataFolder);
  if (!logExists(config, data)) throw new ConfigError(`no log in ${data.root}: give --data-folder`);
  const log = await openLog(config, data);
  try {
    const versions = await trainedVersions(log);
    if (versions.length === 0) {
      say('nothing was trained yet');
      return 0;
    }
    const executor = await openBackend(config.backend, { threads: threadsOf(config) });
    const folderOf = (model: string): string => {
      const found = findModelHere({ ...config, model });
      if (found === undefined) throw new ConfigError(`${model} is not here: clawloop model fetch ${model}`);
      return found;
    };
    const folder = folderOf(config.model);
    const source = await openCheckpoint(folder);
    const policy = await loadPolicy(source, executor);
    const engine = localEngine(
      policy,
      await loadPromptWriter(folder),
      (model) => loadTeacherModel(folderOf(model), folder, executor),
      await loadSpeech(folder, source),
    );
    const base = { model: config.model, digest: await modelDigest(folder) };
    const ofOthers = await trainedOnOthers(versions, base, data.checkpoints);
    const here = runtimeFingerprint(executor);
    say(`runtime: ${here}`);
    const counts = { same: 0, different: 0, 'not-covered': 0 };
    for (const version of versions) {
      const { adapter, version: n, fingerprint: runtime } = version.trained;
      const why = ofOthers.get(version);
      const replayed: Replayed =
        why === undefined
          ? await replayVersion(version, { log, engine, storeOf: data.checkpoints })
          : { adapter, version: n, runtime, kind: 'not-covered', why };
      counts[replayed.kind] += 1;
      say(lineOf(replayed, here));
    }
    say(
      `${versions.length} versions in the log, ${versions.length - counts['not-covered']} replayed: ` +
        `${counts.same} the same, ${counts.different} different, ${counts['not-covered']} not covered`,
    );
    return counts.different === 0 ? 0 : 1;
  } finally {
    await log.close();
  }
}

/** The versions whose checkpoint tells of another base model than the one that is loaded, and why. */
async function trainedOnOthers(
  versions: readonly TrainedVersion[],
  base: { readonly model: string; readonly digest: string },
  storeOf: (adapter: string) => string,
): Promise<ReadonlyMap<TrainedVersion, string>> {
  const reasons = new Map<TrainedVersion, string>();
  for (const [adapter, ofAdapter] of Map.groupBy(versions, ({ trained }) => trained.adapter)) {
    const kept = await listCheckpoints(storeOf(adapter));
    const states = new Map(kept.map(({ name, state }) => [name, state]));
    // A version whose checkpoint was removed is of the model that all the kept ones are of.
    const others = kept.every(({ state }) => state.model !== base.model && otherBase(state, base));
    const ofTheRest = others ? kept[0]?.state : undefined;
    for (const version of ofAdapter) {
      const state = states.get(version.trained.checkpoint) ?? ofTheRest;
      const reason = state && otherBase(state, base);
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
    case 'different':
      return `${name} DIFFERENT  ${replayed.digest}, the log says ${replayed.expected}${note}`;
    case 'not-covered':
      return `${name} not covered: ${replayed.why}`;
  }
}
