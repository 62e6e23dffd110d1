import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kafkaClassPath } from '../../kafka/jars.ts';
import { mustRun, run } from './podman.ts';

/**
 * Images that carry the names of public ones, made of Debian's packages, where no image registry can be
 * reached: the files under test are then the files that people use. What they do not prove is that the public
 * images behave alike.
 */

type StandIn = {
  readonly image: string;
  readonly file: string;
  /** Puts what its Containerfile copies into its folder. */
  readonly fill: (folder: string) => Promise<void>;
};

const here = fileURLToPath(new URL('.', import.meta.url));
const debian = 'localhost/clawloop-stand-in/debian:bookworm';
const label = 'clawloop.stand-in';
const npmVersion = '11.19.1';

const standIns: readonly StandIn[] = [
  { image: 'docker.io/library/node:24-bookworm-slim', file: 'node.Containerfile', fill: fillNode },
  { image: 'docker.io/apache/kafka:4.3.1', file: 'kafka.Containerfile', fill: fillKafka },
  { image: 'docker.io/valkey/valkey:8.0', file: 'valkey.Containerfile', fill: async () => {} },
  { image: 'docker.io/edenhill/kcat:1.7.1', file: 'kcat.Containerfile', fill: async () => {} },
];

/**
 * Makes what is missing or was made of other files, and resolves when the image that others are built from is
 * there; `rest` when all are. An image that is really there is left alone.
 */
export async function makeStandIns(say: (line: string) => void): Promise<{ readonly rest: Promise<void> }> {
  if ((await labelOf(debian)) === undefined) await makeDebian(say);
  const [first, ...others] = standIns;
  await make([first!], say);
  return { rest: make(others, say) };
}

async function make(chosen: readonly StandIn[], say: (line: string) => void): Promise<void> {
  for (const one of chosen) {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-stand-in-'));
    try {
      const digest = await digestOf(one);
      const found = await labelOf(one.image);
      if (found === digest || found === '') continue;
      say(`making a stand-in for ${one.image}`);
      await one.fill(folder);
      const args = ['build', '--pull=never', '--tag', one.image, '--label', `${label}=${digest}`];
      await mustRun('podman', [...args, '--file', join(here, one.file), folder]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Of which files it was made; empty: it is no stand-in; undefined: there is no such image. */
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

async function makeDebian(say: (line: string) => void): Promise<void> {
  say('making a Debian by debootstrap');
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

/** This process's own Node, npm, and what npm, pip and TLS need here to reach their registries. */
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
