import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../shared/runtime/free-port.ts';
import { temporaryServerEnvironment } from '../config.ts';
import { waitUntilReady } from '../up/readiness.ts';

export type TemporaryServer = {
  readonly url: string;
  readonly dataFolder: string;
  /** Stops it and removes its folder. */
  readonly stop: () => Promise<void>;
};

const HOST = '127.0.0.1';
const cli = fileURLToPath(new URL('../main.ts', import.meta.url));
/** characters of output to show if the server ends unexpectedly */
const TAIL = 2_000;

/**
 * Runs all services on a temporary data folder, at most as long as this process lives.
 * @param flags more flags of `clawloop up`
 * @throws Error when they end before they are ready
 */
export async function startTemporaryServer(
  signal: AbortSignal,
  flags: readonly string[] = [],
): Promise<TemporaryServer> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'clawloop-demo-'));
  const port = await freePort();
  const url = `http://${HOST}:${port}`;
  const health = ['collector', 'judge', 'trainer'].flatMap((name) => [`--${name}-health-port`, '0']);
  const child = spawn(
    process.execPath,
    [
      ...process.execArgv,
      cli,
      'up',
      '--data-folder',
      dataFolder,
      '--port',
      String(port),
      '--no-console',
      ...health,
      ...flags,
    ],
    {
      // detached, so that Ctrl-C reaches only this process; the channel ends it with this process
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: temporaryServerEnvironment(),
    },
  );
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-TAIL);
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
  throw new Error(`the temporary server did not start:\n${output}`);
}
