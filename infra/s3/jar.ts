import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Needs Java 17, as Kafka does. */
const version = '4.1.0';
const sha256 = 'a4d025969aaf796616ed4b1e2491d87d455ce84bb28cb9db086b2e6aaa68b48d';
const name = `s3proxy-${version}-jar-with-dependencies.jar`;
const jar = join(root, '.s3proxy', name);

/** Why S3Proxy cannot be started here; null if it can. */
export function whyNoS3(): string | null {
  const has = (command: string, argument: string) =>
    spawnSync(command, [argument], { stdio: 'ignore' }).status === 0;
  if (!has('java', '-version')) return 'S3Proxy needs Java 17 (openjdk-17-jre-headless)';
  if (!existsSync(jar) && !has('mvn', '-version')) return 'S3Proxy is fetched by Maven (maven)';
  return null;
}

/** The jar of S3Proxy, fetched from Maven Central once (55 MB) and compared with its digest. */
export function s3ProxyJar(): string {
  if (existsSync(jar)) return jar;
  mkdirSync(join(root, '.s3proxy'), { recursive: true });
  const part = mkdtempSync(join(root, '.s3proxy', 'part-'));
  try {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.7.0:copy';
    const artifact = `org.gaul:s3proxy:${version}:jar:jar-with-dependencies`;
    const ran = spawnSync(
      'mvn',
      ['-q', '-B', '-C', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${part}`],
      { encoding: 'utf8' },
    );
    if (ran.status !== 0)
      throw new Error(`Maven could not fetch S3Proxy: ${ran.error?.message ?? `${ran.stdout}${ran.stderr}`}`);
    const found = createHash('sha256')
      .update(readFileSync(join(part, name)))
      .digest('hex');
    if (found !== sha256) throw new Error(`${name} has the digest ${found}, not ${sha256}`);
    // if two processes download at once, either file is fine
    renameSync(join(part, name), jar);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return jar;
}
