import { cpus } from 'node:os';
import type { Executor } from '../../shared/policy/executors/backend.ts';

/**
 * Increase this when the arithmetic of a step changes, so that a replay of older steps explains the difference.
 */
const STEP_REVISION = 3;

/** Everything except the input that affects the bits of a step: equal fingerprints and inputs give equal digests. */
export function runtimeFingerprint({ report }: Pick<Executor, 'report'>): string {
  // The report begins with the backend, its version and its threads; advice follows.
  const backend = report.split(/[,;]/)[0]!;
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor';
  return [
    `step ${STEP_REVISION}`,
    backend,
    `node ${process.versions.node.split('.')[0]}`,
    `${process.platform}-${process.arch}`,
    cpu,
  ].join('; ');
}

const onServer = 'training server';

/** The same for steps on a training server, whose arithmetic is not known: equal inputs give close numbers. */
export const serverFingerprint = (server: {
  readonly dialect: string;
  readonly url: string;
  readonly model: string;
}): string =>
  `step ${STEP_REVISION}; ${onServer} ${server.dialect} at ${new URL(server.url).host}; ${server.model}`;

/** Whether a version was trained on a training server. */
export const isOfServer = (fingerprint: string): boolean =>
  fingerprint.split('; ')[1]?.startsWith(`${onServer} `) === true;

/**
 * Splits a version's fingerprint: the runtime's, followed by `; teacher ` and a digest if a separate model
 * taught.
 */
export function readFingerprint(fingerprint: string): {
  readonly runtime: string;
  readonly teacherDigest: string | undefined;
} {
  const [runtime, teacherDigest] = fingerprint.split('; teacher ');
  return { runtime: runtime!, teacherDigest };
}
