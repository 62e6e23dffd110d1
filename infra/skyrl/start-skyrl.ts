import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from '../../shared/lang/is-running.ts';
import { freePort } from '../../shared/runtime/free-port.ts';
import { type SkyrlPlatform, skyrlCache, skyrlEnvironment } from './install.ts';

export type SkyrlSettings = {
  /** folder of the model in Hugging Face format; clients name the model by this path */
  readonly model: string;
  /** states, adapters and the database; made if missing */
  readonly folder: string;
  /** default: a free port */
  readonly port?: number;
  readonly host?: string;
  /** models that may be loaded at once; default 8 */
  readonly adapters?: number;
  /** default 16 */
  readonly rank?: number;
  /** further settings of its JAX backend, for example tensor_parallel_size */
  readonly backend?: Readonly<Record<string, unknown>>;
  /** JAX_PLATFORMS; default cpu */
  readonly platform?: SkyrlPlatform;
  /** s without a heartbeat until a session's models are unloaded; default 300, SkyRL's own */
  readonly sessionTimeoutSeconds?: number;
  /** every line of its log */
  readonly onLine?: (line: string) => void;
  /** when it aborts while the server starts, the server is ended */
  readonly signal?: AbortSignal;
};

export type Skyrl = {
  readonly url: string;
  readonly model: string;
  /** `MODEL/NAME` for training states, `MODEL/sampler_weights/NAME.tar.gz` for adapters */
  readonly checkpoints: string;
  /** its log, the newest 100 kB */
  readonly output: () => string;
  /** SIGKILL to the engine alone, or to all processes; resolves when they are gone. */
  readonly kill: (part?: 'engine' | 'all') => Promise<void>;
  /** Starts it again with the same port, states and database; resolves when the engine is ready. */
  readonly start: () => Promise<void>;
  /** Ends it gently, and what is left after some seconds by force. The folder stays. */
  readonly stop: () => Promise<void>;
  /** Resolves when the server has ended, by itself or by a call. */
  readonly ended: () => Promise<void>;
};

/** Python imports for minutes where the machine is busy. */
const START_LIMIT_MS = 15 * 60_000;
/** ms that the processes have to end by themselves, more than GUARD gives them */
const GRACE_MS = 10_000;
/** The engine writes this line after it has loaded the model. */
const READY = 'Starting background engine...';
const CHECKPOINTS = 'checkpoints';

/** The process that started it may be killed without a word, and nothing is to stay. Linux alone sees to it. */
const diesWithUs = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { stdio: 'ignore' }).status === 0;

/**
 * Runs a command and ends its whole process group with it: SkyRL's API can end without its engine. SIGTERM gives the
 * group 8 s.
 */
const GUARD = `
"$@" & child=$!
end() {
  trap '' TERM
  kill -TERM 0
  waited=0
  while kill -0 $child 2>/dev/null && [ $waited -lt 80 ]; do sleep 0.1; waited=$((waited + 1)); done
  kill -KILL 0
}
trap end TERM
wait $child
kill -KILL 0`;

/**
 * Starts SkyRL's Tinker server; resolves when its engine has loaded the model. Compiled programs of JAX are kept
 * in the ignored folder of the environment, so that a second start compiles nothing.
 *
 * @throws Error with the end of the log, when it ends early or takes too long
 */
export async function startSkyrl(settings: SkyrlSettings): Promise<Skyrl> {
  const { model, folder, host = '127.0.0.1', onLine = () => {} } = settings;
  await mkdir(folder, { recursive: true });
  const port = settings.port ?? (await freePort());
  let child: ChildProcess | undefined;
  let log = '';
  const isAlive = () => child !== undefined && child.exitCode === null && child.signalCode === null;

  const start = async (): Promise<void> => {
    log = '';
    child = spawnServer(settings, port);
    child.once('error', (error) => (log += error.message));
    for (const stream of [child.stdout!, child.stderr!]) {
      let rest = '';
      stream.on('data', (part: Buffer) => {
        log = `${log}${part}`.slice(-100_000);
        const lines = `${rest}${part}`.split('\n');
        rest = lines.pop()!;
        for (const line of lines) onLine(line.trimEnd());
      });
    }
    const end = performance.now() + START_LIMIT_MS;
    while (!log.includes(READY)) {
      settings.signal?.throwIfAborted();
      if (!isAlive()) throw new Error(`SkyRL ended with ${child.exitCode ?? child.signalCode}:\n${log}`);
      if (performance.now() > end) throw new Error(`SkyRL did not start in time:\n${log}`);
      await delay(100);
    }
  };

  const signalGroup = (signal: NodeJS.Signals) => {
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {} // the group is gone
  };
  const gone = async () => {
    if (isAlive()) await once(child!, 'exit');
  };
  const killAll = async () => {
    signalGroup('SIGKILL');
    await gone();
  };
  const stop = async () => {
    signalGroup('SIGTERM');
    await Promise.race([gone(), delay(GRACE_MS, undefined, { ref: false })]);
    await killAll();
  };
  const kill = async (part: 'engine' | 'all' = 'all') => {
    if (part === 'all') return killAll();
    const engines = processesOf(child!.pid!).filter(({ command }) => command.includes('skyrl.tinker.engine'));
    for (const { pid } of engines) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    await gone(); // the API server ends without its engine
    await killAll();
  };

  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `http://${host}:${port}`,
    model,
    checkpoints: join(folder, CHECKPOINTS),
    output: () => log,
    kill,
    start,
    stop,
    ended: gone,
  };
}

/**
 * Sequences that are computed together. JAX compiles a program for every number of them and every length (rounded to two
 * binary digits), which takes longer on a CPU than it saves.
 */
const microBatches = (platform: string) => {
  const sequences = platform === 'cpu' ? 1 : 8;
  return { train_micro_batch_size: sequences, sample_max_num_sequences: sequences };
};

/** Its API starts its engine with `uv run`, as it was started itself. */
function spawnServer(settings: SkyrlSettings, port: number): ChildProcess {
  const { adapters = 8, rank = 16, backend = {}, host = '127.0.0.1', platform = 'cpu' } = settings;
  const { folder, model } = settings;
  const server = [
    ...['--base-model', model, '--backend', 'jax', '--host', host, '--port', String(port)],
    // one adapter belongs to the base model
    '--backend-config',
    JSON.stringify({
      ...microBatches(platform),
      max_lora_adapters: adapters + 1,
      max_lora_rank: rank,
      ...backend,
    }),
    ...['--checkpoints-base', join(folder, CHECKPOINTS)],
    ...['--database-url', `sqlite:///${join(folder, 'tinker.db')}`],
    ...(settings.sessionTimeoutSeconds === undefined
      ? []
      : [
          ...['--session-timeout-sec', String(settings.sessionTimeoutSeconds)],
          ...['--session-cleanup-interval-sec', String(Math.ceil(settings.sessionTimeoutSeconds / 5))],
        ]),
  ];
  const environment = skyrlEnvironment(platform);
  const uv = [join(environment, 'bin/uv'), 'run', '--no-project', '--active', '-m', 'skyrl.tinker.api'];
  const guarded = ['sh', '-c', GUARD, 'sh', ...uv, ...server];
  const [command, ...argv] = [...(diesWithUs ? ['setpriv', '--pdeathsig', 'TERM'] : []), ...guarded];
  const path = [join(environment, 'bin'), process.env.PATH].filter(Boolean).join(delimiter);
  return spawn(command!, argv, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group of its own: its engine ends with it
    env: {
      ...process.env,
      PATH: path,
      VIRTUAL_ENV: environment,
      UV_OFFLINE: '1',
      UV_NO_PROJECT: '1',
      HF_HUB_OFFLINE: '1',
      JAX_PLATFORMS: platform,
      JAX_COMPILATION_CACHE_DIR: join(skyrlCache, 'jax-cache'),
      JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: '0',
      JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES: '-1',
      JAX_COMPILATION_CACHE_MAX_SIZE: String(2 * 2 ** 30), // bytes; the least recently used programs go
      COLUMNS: '1000', // otherwise its log breaks lines
    },
  });
}

/** The processes below one, from /proc; none on other systems. */
function processesOf(root: number): readonly { readonly pid: number; readonly command: string }[] {
  if (!existsSync('/proc')) return [];
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1]);
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }];
      } catch {
        return []; // it ended meanwhile
      }
    });
  const below = (pid: number): typeof all =>
    all.filter(({ parent }) => parent === pid).flatMap((one) => [one, ...below(one.pid)]);
  return below(root);
}
