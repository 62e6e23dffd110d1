import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const version = '4.3.1';
const folder = join(root, '.kafka', version);

/** Why Kafka cannot be started here; null if it can. */
export function whyNoKafka(): string | null {
  const has = (command: string, argument: string) =>
    spawnSync(command, [argument], { stdio: 'ignore' }).status === 0;
  if (!has('java', '-version')) return 'Kafka needs Java 17 (openjdk-17-jre-headless)';
  if (!existsSync(folder) && !has('mvn', '-version')) return 'Kafka is fetched by Maven (maven)';
  return null;
}

/** Kafka's jars, fetched from Maven Central once (45 MB); returns the class path. */
export function kafkaClassPath(): string {
  if (!existsSync(folder)) {
    mkdirSync(join(root, '.kafka'), { recursive: true });
    const part = mkdtempSync(join(root, '.kafka', 'part-'));
    const args = ['-q', '-B', '-f', join(root, 'infra/kafka/pom.xml'), 'dependency:copy-dependencies'];
    const ran = spawnSync('mvn', [...args, `-DoutputDirectory=${part}`, '-DincludeScope=runtime'], {
      encoding: 'utf8',
    });
    if (ran.status !== 0) {
      rmSync(part, { recursive: true, force: true });
      throw new Error(`Maven could not fetch Kafka: ${ran.error?.message ?? `${ran.stdout}${ran.stderr}`}`);
    }
    // if two processes download at once, either folder is fine
    try {
      renameSync(part, folder);
    } catch (error) {
      rmSync(part, { recursive: true, force: true });
      if (!existsSync(folder)) throw error;
    }
  }
  return join(folder, '*');
}
