import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isObject } from '../../../shared/lang/json.ts';
import { clawloop, freePort, until } from '../harness/clawloop.ts';
import { connectGateway } from './gateway-client.ts';
import { openClawLauncher } from './install.ts';

export type Settings = { readonly [name: string]: unknown };

/** An isolated OpenClaw: home, state folder, workspace and settings. */
export type OpenClawHome = {
  readonly folder: string;
  /** folder in which its agents read and write */
  readonly workspace: string;
  /** `openclaw.json` */
  readonly file: string;
  readonly settings: () => Promise<Settings>;
  /** Merges more settings into the existing ones, objects field by field. */
  readonly configure: (settings: Settings) => Promise<void>;
  /** One command of OpenClaw's own command line. The signal kills it at once. */
  readonly openclaw: (
    argv: readonly string[],
    kill?: AbortSignal,
  ) => Promise<{ readonly code: number; readonly text: string }>;
  readonly start: () => Promise<OpenClawGateway>;
  /** Ends its gateway and removes everything. */
  readonly dispose: () => Promise<void>;
};

export type Answered = {
  readonly text: string;
  /** as the `Runtime:` line names it */
  readonly sessionId: string;
};

export type OpenClawGateway = {
  /** Says something in the session of that name, and waits for the answer. @throws if there is none */
  readonly say: (session: string, words: string) => Promise<Answered>;
  /** Any call of the gateway's protocol. */
  readonly call: (method: string, params?: object) => Promise<unknown>;
  readonly output: () => string;
  readonly stop: () => Promise<void>;
};

/** OpenClaw must not outlive a test process that is killed. Only Linux offers a way. */
const diesWithUs = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { stdio: 'ignore' }).status === 0;
const [command, ...before] = [...(diesWithUs ? ['setpriv', '--pdeathsig', 'TERM'] : []), process.execPath];

/** ms: it starts in seven seconds, and in a minute on a busy machine */
const START_LIMIT_MS = 180_000;
/** ms: a gateway lets its runs end before it ends its sessions */
const STOP_LIMIT_MS = 120_000;

/**
 * OpenClaw as a person sets it up for a running ClawLoop: `clawloop openclaw config --write` on an empty home, then a
 * gateway without channels. `more`: flags of that command. Its first-run files are left out (`skipBootstrap`), and its
 * timers rest.
 */
export const openClawHome = (url: string, more: readonly string[] = []): Promise<OpenClawHome> =>
  emptyHome(async (file) => {
    const argv = ['openclaw', 'config', '--write', '--yes', '--file', file, '--url', url, ...more];
    const wrote = await clawloop(argv);
    if (wrote.code !== 0) throw new Error(`openclaw config: ${wrote.stderr}${wrote.stdout}`);
  });

/** OpenClaw in an empty home, with these settings and no others but those that `openClawHome` adds. */
export const openClawHomeWith = (settings: Settings): Promise<OpenClawHome> =>
  emptyHome((file) => writeFile(file, JSON.stringify(settings)));

async function emptyHome(writeSettings: (file: string) => Promise<void>): Promise<OpenClawHome> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-home-'));
  const [file, workspace, home] = ['openclaw.json', 'workspace', 'home'].map((name) => join(folder, name));
  await Promise.all([mkdir(workspace!), mkdir(home!)]);
  const [port, token] = [await freePort(), randomUUID()];
  const environment = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: home!,
    OPENCLAW_STATE_DIR: folder,
    OPENCLAW_CONFIG_PATH: file!,
    OPENCLAW_GATEWAY_TOKEN: token,
  };
  const run = (argv: readonly string[], more: SpawnOptions = {}): ChildProcess =>
    spawn(command!, [...before, openClawLauncher, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: workspace,
      env: environment,
      ...more,
    });
  const settings = async () => JSON.parse(await readFile(file!, 'utf8')) as Settings;
  const configure: OpenClawHome['configure'] = async (more) =>
    writeFile(file!, JSON.stringify(laidOver(await settings(), more), null, 2));
  await writeSettings(file!);
  await configure({
    logging: { file: join(folder, 'openclaw.log') },
    gateway: { mode: 'local', port, bind: 'loopback', auth: { mode: 'token', token } },
    agents: { defaults: { skipBootstrap: true, workspace, heartbeat: { every: '0m' } } },
  });
  let running: OpenClawGateway | undefined;
  return {
    folder,
    workspace: workspace!,
    file: file!,
    settings,
    configure,
    openclaw: async (argv, kill) => {
      // all processes are in one group, so that a kill leaves none behind
      const child = run(argv, { detached: true, env: { ...environment, OPENCLAW_NO_RESPAWN: '1' } });
      const text = textOf(child);
      const end = () => process.kill(-child.pid!, 'SIGKILL');
      kill?.addEventListener('abort', end);
      const [code] = (await once(child, 'close')) as [number | null];
      kill?.removeEventListener('abort', end);
      return { code: code ?? 1, text: text() };
    },
    start: async () => {
      running = await startGateway(run(['gateway', 'run', '--verbose']), port, token);
      return running;
    },
    dispose: async () => {
      await running?.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function startGateway(child: ChildProcess, port: number, token: string): Promise<OpenClawGateway> {
  const output = textOf(child);
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const end = async () => {
    if (!isAlive()) return;
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await once(child, 'exit');
    clearTimeout(force);
  };
  const client = await until(
    "OpenClaw's gateway answers",
    () => {
      if (!isAlive()) throw new Error(`OpenClaw's gateway ended:\n${output()}`);
      return connectGateway(port, token).catch(() => undefined);
    },
    START_LIMIT_MS,
  ).catch(async (error: Error) => {
    await end();
    throw new Error(`${error.message}\n${output().slice(-4_000)}`);
  });
  return {
    call: client.call,
    output,
    say: async (session, words) => {
      const sessionKey = `agent:main:${session}`;
      const said = { message: words, sessionKey, idempotencyKey: randomUUID() };
      const { status, summary, result } = (await client.call('agent', said)) as Outcome;
      const text = (result?.payloads ?? []).map((one) => one.text ?? '').join('\n');
      if (status !== 'ok') throw new Error(`OpenClaw in ${session}: ${status} ${summary} ${text}`);
      return { text, sessionId: result!.meta.agentMeta.sessionId };
    },
    stop: async () => {
      client.close();
      await end();
    },
  };
}

type Outcome = {
  readonly status: string;
  readonly summary?: string;
  readonly result?: {
    readonly payloads?: readonly { readonly text?: string }[];
    readonly meta: { readonly agentMeta: { readonly sessionId: string } };
  };
};

function textOf(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (text += part));
  return () => text;
}

const laidOver = (below: Settings, above: Settings): Settings => ({
  ...below,
  ...Object.fromEntries(
    Object.entries(above).map(([name, value]) => {
      const under = below[name];
      return [name, isObject(value) && isObject(under) ? laidOver(under, value) : value];
    }),
  ),
});
