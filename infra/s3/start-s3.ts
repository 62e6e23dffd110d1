import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../shared/runtime/free-port.ts';
import { s3ProxyJar } from './jar.ts';

export type S3Server = {
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** folder with a folder per bucket, which has a file per object */
  readonly buckets: string;
  /** SIGKILL; resolves when the process is gone. */
  readonly kill: () => Promise<void>;
  /** Starts it again with the same port and files, unless it runs. */
  readonly start: () => Promise<void>;
  /** Stops it and removes its files. */
  readonly close: () => Promise<void>;
};

const START_LIMIT_MS = 60_000;

/** Ends the server if this process is killed. Linux only. */
const diesWithUs = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { stdio: 'ignore' }).status === 0;

/** Starts S3Proxy, which keeps its buckets in a temporary folder, on a free port. */
export async function startS3(): Promise<S3Server> {
  const jar = s3ProxyJar();
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-s3-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [accessKeyId, secretAccessKey] = ['id-of-tests', 'secret-of-tests'];
  const buckets = join(folder, 'buckets');
  const properties = join(folder, 's3proxy.conf');
  await mkdir(buckets);
  await writeFile(
    properties,
    [
      `s3proxy.endpoint=${url}`,
      's3proxy.authorization=aws-v4',
      `s3proxy.identity=${accessKeyId}`,
      `s3proxy.credential=${secretAccessKey}`,
      'jclouds.provider=filesystem-nio2',
      `jclouds.filesystem.basedir=${buckets}`,
    ].join('\n'),
  );
  let child: ChildProcess | undefined;
  const killWithUs = () => void child?.kill('SIGKILL');
  process.once('exit', killWithUs);

  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const start = async (): Promise<void> => {
    if (isRunning()) return;
    const said = join(folder, 's3proxy.log');
    child = run(jar, properties, said);
    const started = performance.now();
    while (!(await answers(url))) {
      if (child.exitCode !== null || performance.now() - started > START_LIMIT_MS) {
        child.kill('SIGKILL');
        throw new Error(`S3Proxy did not start: ${readFileSync(said, 'utf8').slice(-2_000)}`);
      }
      await delay(50);
    }
  };
  const kill = async (): Promise<void> => {
    if (!isRunning()) return;
    const gone = once(child!, 'exit');
    child!.kill('SIGKILL');
    await gone;
  };
  await start();
  const close = async () => {
    await kill();
    process.off('exit', killWithUs);
    await rm(folder, { recursive: true, force: true });
  };
  return { url, accessKeyId, secretAccessKey, buckets, kill, start, close };
}

function run(jar: string, properties: string, said: string): ChildProcess {
  const log = openSync(said, 'a');
  const java = ['java', '-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar', jar];
  const [command, ...argv] = [
    ...(diesWithUs ? ['setpriv', '--pdeathsig', 'KILL'] : []),
    ...java,
    '--properties',
    properties,
  ];
  const child = spawn(command!, argv, { stdio: ['ignore', log, log] });
  closeSync(log);
  return child;
}

/** Any status: a request without a signature is refused. */
const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );
