import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { whyNoSkyrl } from '../../infra/skyrl/install.ts';
import { type Skyrl, type SkyrlSettings, startSkyrl } from '../../infra/skyrl/start-skyrl.ts';
import { writeF32Model } from '../../infra/skyrl/write-f32-model.ts';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { modelFolderOf } from '../../shared/policy/testing/reference-model.ts';
import { openTrainingServer } from '../../shared/tinker/open-training-server.ts';
import type {
  DialectName,
  RemoteSession,
  ServerSequence,
  TrainingServer,
} from '../../shared/tinker/training-server.ts';
import { freePort } from '../e2e/harness/clawloop.ts';

/** Runs where SkyRL is installed; elsewhere the name of the suite says what is missing. */
export const describeWithSkyrl = (name: string, suite: () => void): void => {
  const missing = whyNoSkyrl();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, suite);
};

/** Tiny f32 models with random weights, and claw-nano. */
export type SkyrlModel = 'qwen3-tiny' | 'llama-tiny' | typeof CLAW_NANO;

export type SkyrlSuite = {
  readonly server: Skyrl;
  /** folder of the model, which is also its name on the server */
  readonly model: string;
  readonly open: (dialect?: DialectName, changes?: { readonly model?: string }) => TrainingServer;
  /** A session that is closed after the test. */
  readonly session: (server?: TrainingServer) => Promise<RemoteSession>;
};

/** A SkyRL server with its files for all tests of a suite; nothing stays after the last. */
export function skyrlForSuite(name: SkyrlModel, settings: Partial<SkyrlSettings> = {}): SkyrlSuite {
  const suite = {} as { -readonly [Name in keyof SkyrlSuite]: SkyrlSuite[Name] };
  let folder: string | undefined;
  const clients: TrainingServer[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-skyrl-'));
    suite.model = name === CLAW_NANO ? join(folder, 'model') : modelFolderOf(name);
    if (name === CLAW_NANO) await writeF32Model(modelFolder(CLAW_NANO), suite.model);
    const place = { folder: join(folder, 'server'), port: await freePort() };
    suite.server = await startSkyrl({ ...place, model: suite.model, ...settings });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await suite.server?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });
  suite.open = (dialect = 'skyrl-jax', { model = suite.model } = {}) => {
    const server = openTrainingServer({ url: suite.server.url, apiKey: 'tml-any', dialect, model });
    clients.push(server);
    return server;
  };
  suite.session = async (server = suite.open()) => {
    const session = await server.openSession({ test: 'yes' }, new AbortController().signal);
    onTestFinished(() => session.close());
    return session;
  };
  return suite;
}

/** Deterministic token ids below a thousand, of the given lengths. */
export function sequencesOf(
  lengths: readonly (readonly [prompt: number, response: number])[],
): ServerSequence[] {
  let random = 7;
  const next = (): number => {
    random = (random * 48_271) % 2_147_483_647; // Park and Miller 1988
    return 5 + (random % 990);
  };
  const ids = (length: number) => Array.from({ length }, next);
  return lengths.map(([prompt, response]) => ({ promptIds: ids(prompt), responseIds: ids(response) }));
}

export const adam = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: undefined,
};

/** Largest absolute difference of two lists of rows. */
export const worst = (a: readonly ArrayLike<number>[], b: readonly ArrayLike<number>[]): number =>
  Math.max(...a.map((row, n) => Math.max(...Array.from(row, (value, t) => Math.abs(value - b[n]![t]!)))));
