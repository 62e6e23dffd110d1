import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { applyHead, type HeadState, initialHead } from '../../shared/lineage/head.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { writeSafetensors } from '../../shared/policy/checkpoints/safetensors.ts';
import { initialWeights } from '../../shared/policy/model/initialise.ts';
import { weightShapes } from '../../shared/policy/model/layout.ts';
import { modelConfigJson } from '../../shared/policy/model/model-config.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { smallConfig } from '../../shared/policy/testing/model.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { until } from './harness/clawloop.ts';

const nodeFlags = ['--disable-warning=ExperimentalWarning'];
const entry = (name: string) => fileURLToPath(new URL(`../../services/trainer/${name}.ts`, import.meta.url));

const tiny = {
  ...smallConfig,
  vocabularySize: 64,
  hiddenSize: 32,
  heads: 2,
  keyValueHeads: 1,
  headSize: 16,
  intermediateSize: 64,
  maxPositions: 256,
};

/** One token for each character, including those of hints and their marker. */
const characters = [..."abcdefghijklmnopqrstuvwxyz[]'/ \n"];
const tinyTokenizer = {
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: { type: 'Sequence', decoders: [{ type: 'Fuse' }] },
  model: { type: 'BPE', vocab: Object.fromEntries(characters.map((one, id) => [one, id])), merges: [] },
};

/** A random model in Hugging Face format. */
export async function writeTinyModel(folder: string, seed = 1): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'config.json'), JSON.stringify(modelConfigJson(tiny)));
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tinyTokenizer));
  const template = '{% for message in messages %}{{ message.content }}{% endfor %}';
  await writeFile(join(folder, 'chat_template.jinja'), template);
  const shapes = weightShapes(tiny);
  const read = new Map(
    [...initialWeights(tiny, seed)].map(
      ([name, values]) => [name, { shape: shapes.get(name)!, values }] as const,
    ),
  );
  await writeSafetensors(join(folder, 'model.safetensors'), read, { dtype: 'F32' });
}

export type TrainerProcess = {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Address of the health port, once it listens. */
  readonly url: () => Promise<string>;
  /** Sends the signal and waits for the end; resolves to the exit code. */
  readonly end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>;
};

/** A data folder with a log, a model beside it, and trainers that end with it. */
export type TrainerFolder = {
  readonly root: string;
  readonly log: EventLog;
  readonly checkpoints: string;
  readonly start: (flags?: readonly string[]) => TrainerProcess;
  readonly replay: (
    flags?: readonly string[],
  ) => Promise<{ readonly code: number | null; readonly text: string }>;
  /** Appends new samples and a batch of them, as the collector does. */
  readonly submit: (n: number, options?: SubmitOptions) => Promise<void>;
  readonly events: () => readonly ClawLoopEvent[];
  readonly head: (adapter?: string) => HeadState;
  /** Waits until the batch has its outcome in the log; resolves to the head's state then. */
  readonly settled: (n: number, adapter?: string) => Promise<HeadState>;
  readonly dispose: () => Promise<void>;
};

export type SubmitOptions = {
  readonly adapter?: string;
  readonly parent?: number;
  readonly settings?: Partial<TrainingSettings>;
  /** tokens per answer; more take longer */
  readonly length?: number;
};

export async function openTrainerFolder(
  model?: string,
  backend: 'wasm' | 'native' = 'wasm',
): Promise<TrainerFolder> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-e2e-trainer-'));
  const modelPath = model ?? join(root, 'model');
  if (model === undefined) await writeTinyModel(modelPath);
  const data = dataFolder(join(root, 'data'));
  await mkdir(data.log, { recursive: true });
  const log = await openSqliteLog({ folder: data.log, sessionTimeoutMs: 1_000 });
  const records: Recorded[] = [];
  const stop = new AbortController();
  const following = log.follow('training', {}, (record) => void records.push(record), {
    signal: stop.signal,
  });
  const events = () => records.map(({ event }) => event);
  const head = (adapter = 'default') =>
    events()
      .filter(({ subject }) => subject === adapter)
      .reduce(applyHead, initialHead);
  const running = new Set<TrainerProcess>();
  const common = ['--data-folder', data.root, '--model', modelPath, '--backend', backend];

  return {
    root,
    log,
    checkpoints: data.checkpoints('default'),
    events,
    head,
    start: (flags = []) => {
      const argv = [
        ...common,
        '--health-port',
        '0',
        '--session-timeout-ms',
        '1000',
        '--owed-interval-ms',
        '500',
      ];
      const trainer = follow(spawn(process.execPath, [...nodeFlags, entry('main'), ...argv, ...flags]));
      running.add(trainer);
      return trainer;
    },
    replay: async (flags = []) => {
      const trainer = follow(spawn(process.execPath, [...nodeFlags, entry('replay'), ...common, ...flags]));
      const [code] = (await once(trainer.child, 'close')) as [number | null];
      return { code, text: trainer.output() };
    },
    submit: async (
      n,
      { adapter = 'default', parent = head(adapter).head, settings = {}, length = 6 } = {},
    ) => {
      const samples = samplesOf(adapter, n, parent, length);
      await log.append(samples);
      const ids = new Set(samples.map(({ id }) => id));
      const found = await until('the samples are in the log', async () => {
        await following.reachEnd();
        const there = records.filter(({ event }) => ids.has(event.id));
        return there.length === samples.length && there;
      });
      const batchId = `${adapter}/batch/${n}`;
      await log.append([
        BatchSubmitted.create({
          id: batchId,
          ...writer,
          data: {
            batchId,
            adapter,
            n,
            parent,
            size: samples.length,
            maxStaleness: 4,
            samples: found.map(({ event, at }) => ({ sampleId: event.id.replace('/ready', ''), at })),
            settings: { ...defaultTrainingSettings('claw-nano').settings, ...settings },
            seed: n,
          },
        }),
      ]);
      await following.reachEnd();
    },
    settled: (n, adapter = 'default') =>
      until(`batch ${n} has its outcome`, async () => {
        await following.reachEnd();
        const state = head(adapter);
        return state.n >= n && state.open === null && state;
      }),
    dispose: async () => {
      await Promise.all([...running].map((trainer) => trainer.end('SIGKILL')));
      stop.abort();
      await following.done;
      await log.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

const writer = { source: 'clawloop/collector', time: '2026-01-01T00:00:00.000Z' };

/**
 * Four answers, liked and disliked in turn, every second dislike with a hint; their log-probs are those of a uniform
 * policy.
 */
function samplesOf(adapter: string, n: number, version: number, length: number) {
  const random = createRandom(`batch ${n}`);
  const ids = (count: number, of = 64) => Array.from({ length: count }, () => Math.floor(random() * of));
  return [0, 1, 2, 3].map((index) => {
    const sampleId = `${adapter}-turn-${n}-${index}`;
    const promptIds = ids(8, 26);
    const responseIds = ids(length + index);
    return SampleReady.create({
      id: `${sampleId}/ready`,
      ...writer,
      data: {
        sampleId,
        adapter,
        lane: 'lane',
        session: `${adapter}-session-${n}-${index}`,
        epoch: 'first',
        version,
        verdict: index % 2 === 0 ? 1 : -1,
        source: 'votes',
        soft: false,
        hints: index === 3 ? ['say less than that'] : [],
        messages: [{ role: 'user', content: promptIds.map((id) => characters[id]).join('') }],
        tokens: {
          promptIds,
          responseIds,
          logProbs: responseIds.map(() => -Math.log(64)),
          effectiveTemperature: 1,
          greedy: false,
          filters: { topP: 1, topK: 0 },
        },
      },
    });
  });
}

function follow(child: ChildProcess): TrainerProcess {
  let text = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return {
    child,
    output: () => text,
    url: () =>
      until(`the health port listens:\n${text}`, () => {
        const port = /"port":(\d+)/.exec(text)?.[1];
        return port !== undefined && `http://127.0.0.1:${port}`;
      }),
    end: async (signal) => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await once(child, 'exit');
      }
      return child.exitCode;
    },
  };
}
