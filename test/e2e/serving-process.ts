import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { afterAll, beforeAll } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { type DataFolder, dataFolder } from '../../shared/runtime/data-folder.ts';
import { until } from './harness/clawloop.ts';

const entry = fileURLToPath(new URL('../../services/serving/main.ts', import.meta.url));
export const tinyModel = referencePath('models/qwen3-tiny');

export type ServingProcess = {
  readonly url: string;
  readonly client: OpenAI;
  readonly pid: number;
  readonly isAlive: () => boolean;
  readonly output: () => string;
  /** A value of /metrics; with labels as in the output. */
  readonly metric: (name: string) => Promise<number>;
  readonly stop: () => Promise<number>;
  /** As if its supervisor were gone; resolves with its code when it has ended. */
  readonly abandon: () => Promise<number>;
};

export type ServingFolder = {
  readonly data: DataFolder;
  readonly start: (flags?: readonly string[], wait?: 'ready' | 'listening') => Promise<ServingProcess>;
  /** Starts a serving that must end during its start. Resolves to its exit code and output. */
  readonly startInVain: (
    flags: readonly string[],
  ) => Promise<{ readonly code: number | null; readonly text: string }>;
  readonly openLog: () => Promise<EventLog>;
  readonly events: (topic: Topic) => Promise<readonly ClawLoopEvent[]>;
  /** The recorded event of an answer. @throws if there is none */
  readonly interaction: (id: string) => Promise<InteractionCompleted['data']>;
  readonly dispose: () => Promise<void>;
};

const spawnServing = (folder: string, flags: readonly string[]): ChildProcess =>
  spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      entry,
      '--data-folder',
      folder,
      '--port',
      '0',
      '--model',
      tinyModel,
      '--context',
      'window',
      '--backend',
      'wasm',
      ...flags, // starts at once
    ],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }, // by the channel a service has a supervisor
  );

/** A data folder of its own, and the real serving process on it. */
export async function servingFolder(): Promise<ServingFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-serving-'));
  const data = dataFolder(folder);
  const closers: (() => Promise<unknown>)[] = [];
  const openLog = async (): Promise<EventLog> => {
    const log = await openSqliteLog({ folder: data.log, partitions: 3 });
    closers.push(() => log.close());
    return log;
  };
  let reader: Promise<EventLog> | undefined;
  /** On a busy machine, events that the log did not store in time are in the outbox for a while. */
  const allIsInTheLog = () =>
    until('the outbox is empty', async () => {
      const names = await readdir(data.outbox).catch((): string[] => []);
      return !names.some((name) => name.endsWith('.json'));
    }).catch(() => undefined); // then the test that needs the event fails
  const events: ServingFolder['events'] = async (topic) => {
    await allIsInTheLog();
    reader ??= openLog();
    const log = await reader;
    const stop = new AbortController();
    const seen: ClawLoopEvent[] = [];
    const following = log.follow(topic, {}, ({ event }) => seen.push(event), { signal: stop.signal });
    await following.caughtUp;
    stop.abort();
    await following.done;
    return seen;
  };
  return {
    data,
    start: async (flags = [], wait = 'ready') => {
      const serving = await start(spawnServing(folder, flags), wait);
      closers.push(serving.stop);
      return serving;
    },
    startInVain: async (flags) => {
      const child = spawnServing(folder, flags);
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream!.on('data', (part) => (text += part));
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, text };
    },
    openLog,
    events,
    interaction: async (id) => {
      const found = (await events('conversations')).find((event) => event.id === id);
      if (found?.type !== 'interaction.completed') throw new Error(`${id} was not recorded`);
      return found.data;
    },
    dispose: async () => {
      for (const close of closers.reverse()) await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One serving process for all tests of a suite. */
export function servingForSuite(flags: readonly string[] = []): {
  readonly folder: ServingFolder;
  readonly serving: ServingProcess;
} {
  const on = {} as { folder: ServingFolder; serving: ServingProcess }; // a suite is described before anything runs
  beforeAll(async () => {
    on.folder = await servingFolder();
    on.serving = await on.folder.start(flags);
  });
  afterAll(() => on.folder?.dispose());
  return on;
}

async function start(child: ChildProcess, wait: 'ready' | 'listening'): Promise<ServingProcess> {
  let output = '';
  let endpoint: string | undefined;
  createInterface({ input: child.stdout! }).on('line', (line) => {
    output += `${line}\n`;
    if (line.startsWith('{')) endpoint ??= (JSON.parse(line) as { endpoint?: string }).endpoint;
  });
  child.stderr!.on('data', (part) => (output += part));
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const stop = async () => {
    if (isAlive()) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    return child.exitCode ?? 1;
  };
  const up = async (): Promise<string> => {
    const listening = await until(
      'serving listens',
      () => {
        if (!isAlive()) throw new Error('serving ended');
        return endpoint;
      },
      120_000,
    );
    const address = listening.replace(/\/v1$/, '');
    if (wait === 'ready')
      await until('serving is ready', async () => (await fetch(`${address}/readyz`)).ok, 120_000);
    return address;
  };
  const url = await up().catch(async (error: Error) => {
    await stop();
    throw new Error(`${error.message}\n${output}`);
  });
  return {
    url,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }),
    pid: child.pid!,
    isAlive,
    output: () => output,
    metric: async (name) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      const line = text.split('\n').find((one) => one.startsWith(`${name}{`) || one.startsWith(`${name} `));
      return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
    },
    stop,
    abandon: async () => {
      child.disconnect();
      if (isAlive()) await once(child, 'exit');
      return child.exitCode ?? 1;
    },
  };
}
