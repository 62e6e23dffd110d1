import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentOfItsOwn } from '../config.ts';
import { waitUntilReady } from '../up/readiness.ts';

export type OwnServer = {
  readonly url: string;
  readonly dataFolder: string;
  /** Stops it and removes its folder. */
  readonly stop: () => Promise<void>;
};

const HOST = '127.0.0.1';
const cli = fileURLToPath(new URL('../main.ts', import.meta.url));
/** characters of what it printed that are told when it ends by itself */
const TAIL = 2_000;

/**
 * All services in a folder of their own, for as long as this process lives.
 * @throws when they end before they are ready
 */
export async function startOwnServer(signal: AbortSignal): Promise<OwnServer> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'clawloop-demo-'));
  const port = await freePort();
  const url = `http://${HOST}:${port}`;
  const health = ['collector', 'judge', 'trainer'].flatMap((name) => [`--${name}-health-port`, '0']);
  const child = spawn(
    process.execPath,
    [...process.execArgv, cli, 'up', '--data-folder', dataFolder, '--port', String(port), ...health],
    {
      // a group of its own, so that Ctrl-C reaches this process alone; the channel ends it with this process
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: environmentOfItsOwn(),
    },
  );
  let said = '';
  const keep = (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-TAIL);
  };
  child.stdout!.on('data', keep);
  child.stderr!.on('data', keep);
  const exited = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
    await rm(dataFolder, { recursive: true, force: true });
  };
  const ready = waitUntilReady({ host: HOST, port, url, needsKey: false }, signal).then(
    () => 'ready' as const,
  );
  const outcome = await Promise.race([ready, exited.then(() => 'ended' as const)]).catch(async (error) => {
    await stop();
    throw error;
  });
  if (outcome === 'ready') return { url, dataFolder, stop };
  await stop();
  throw new Error(`a server of its own did not start:\n${said}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, 'close');
  return port;
}
