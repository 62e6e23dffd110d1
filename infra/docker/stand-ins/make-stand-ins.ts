import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kafkaClassPath } from '../../kafka/jars.ts';
import { mustRun, run } from './podman.ts';

/**
 * Builds local images under the names of public ones from Debian packages, for machines without an image
 * registry. So the tests use the deployment files unchanged, but do not prove that the public images behave alike.
 */

type StandIn = {
  readonly image: string;
  readonly file: string;
  /** Puts the files that the Containerfile copies into the folder. */
  readonly fill: (folder: string) => Promise<void>;
};

const here = fileURLToPath(new URL('.', import.meta.url));
const debian = 'localhost/clawloop-stand-in/debian:bookworm';
const slimDebian = 'docker.io/library/debian:bookworm-slim';
const label = 'clawloop.stand-in';
const npmVersion = '11.19.1';

const standIns: readonly StandIn[] = [
  { image: 'docker.io/library/node:24-bookworm-slim', file: 'node.Containerfile', fill: fillNode },
  { image: 'docker.io/apache/kafka:4.3.1', file: 'kafka.Containerfile', fill: fillKafka },
  { image: 'docker.io/valkey/valkey:8.0', file: 'valkey.Containerfile', fill: async () => {} },
  { image: 'docker.io/edenhill/kcat:1.7.1', file: 'kcat.Containerfile', fill: async () => {} },
];

/**
 * Builds missing or outdated stand-ins. Resolves when the base image is ready; `others` resolves when all are. Real
 * images are left alone.
 */
export async function makeStandIns(
  print: (line: string) => void,
): Promise<{ readonly others: Promise<void> }> {
  if ((await labelOf(debian)) === undefined) await makeDebian(print);
  const [first, ...others] = standIns;
  await make([first!], print);
  return { others: make(others, print) };
}

/** Builds the stand-in for Debian's slim image alone, if it is missing. Real images are left alone. */
export async function makeSlimDebian(print: (line: string) => void): Promise<void> {
  if ((await labelOf(slimDebian)) !== undefined) return;
  if ((await labelOf(debian)) === undefined) await makeDebian(print);
  await mustRun('podman', ['tag', debian, slimDebian]);
}

/** Builds the stand-in for the image of Node alone. Real images are left alone. */
export async function makeNodeImage(print: (line: string) => void): Promise<void> {
  if ((await labelOf(debian)) === undefined) await makeDebian(print);
  await make([standIns[0]!], print);
}

async function make(chosen: readonly StandIn[], print: (line: string) => void): Promise<void> {
  for (const standIn of chosen) {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-stand-in-'));
    try {
      const digest = await digestOf(standIn);
      const builtFrom = await labelOf(standIn.image);
      if (builtFrom === digest || builtFrom === '') continue;
      print(`building a stand-in for ${standIn.image}`);
      await standIn.fill(folder);
      const args = ['build', '--pull=never', '--tag', standIn.image, '--label', `${label}=${digest}`];
      await mustRun('podman', [...args, '--file', join(here, standIn.file), folder]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Digest of the files it was built from; empty: not a stand-in; undefined: no such image. */
async function labelOf(image: string): Promise<string | undefined> {
  const { code, stdout } = await run('podman', ['image', 'inspect', '--format', '{{json .Labels}}', image]);
  if (code !== 0) return undefined;
  const labels = JSON.parse(stdout) as Readonly<Record<string, string>> | null;
  return labels?.[label] ?? '';
}

async function digestOf({ file }: StandIn): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  for (const name of [file, 'kafka-run', 'kafka-tool']) hash.update(await readFile(join(here, name)));
  return hash.digest('hex').slice(0, 16);
}

async function makeDebian(print: (line: string) => void): Promise<void> {
  print('building a Debian with debootstrap');
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-debian-'));
  try {
    const rootfs = join(folder, 'rootfs');
    await mustRun('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', rootfs]);
    await rm(join(rootfs, 'var/cache/apt/archives'), { recursive: true });
    await mkdir(join(rootfs, 'var/cache/apt/archives/partial'), { recursive: true });
    await mustRun('tar', ['-C', rootfs, '-cf', join(folder, 'rootfs.tar'), '.']);
    await mustRun('podman', [
      'import',
      '--change',
      `LABEL ${label}=debian`,
      join(folder, 'rootfs.tar'),
      debian,
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies this process's Node and npm, and the local settings of npm, pip and TLS. */
async function fillNode(folder: string): Promise<void> {
  await copyFile(process.execPath, join(folder, 'node'));
  await mustRun('npm', ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `npm@${npmVersion}`]);
  await cp(join(folder, 'node_modules', 'npm'), join(folder, 'npm'), { recursive: true });
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(certificates)) await copyFile(certificates, join(folder, 'ca-certificates.crt'));
  else await writeFile(join(folder, 'ca-certificates.crt'), '');
  const registry = (await mustRun('npm', ['config', 'get', 'registry', '--loglevel=error'])).trim();
  await writeFile(join(folder, 'npmrc'), `registry=${registry}\ncafile=${certificates}\n`);
  const index = await run('python3', ['-m', 'pip', 'config', 'get', 'global.index-url']);
  const lines = [
    `cert = ${certificates}`,
    ...(index.code === 0 ? [`index-url = ${index.stdout.trim()}`] : []),
  ];
  await writeFile(join(folder, 'pip.conf'), `[global]\n${lines.join('\n')}\n`);
}

async function fillKafka(folder: string): Promise<void> {
  await cp(dirname(kafkaClassPath()), join(folder, 'libs'), { recursive: true });
  for (const name of ['kafka-run', 'kafka-tool']) await copyFile(join(here, name), join(folder, name));
}
