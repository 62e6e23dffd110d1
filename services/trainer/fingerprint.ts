import { cpus } from 'node:os';
import type { Executor } from '../../shared/policy/backend.ts';

/** Raised when the arithmetic of a step changes, so that a replay of older steps says why it differs. */
const STEP_REVISION = 3;

/** What the bits of a step depend on besides its input. Two equal ones promise equal digests. */
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

/** A version's fingerprint: the runtime's, and where a model of its own taught, `; teacher ` and its digest. */
export function readFingerprint(fingerprint: string): {
  readonly runtime: string;
  readonly teacherDigest: string | undefined;
} {
  const [runtime, teacherDigest] = fingerprint.split('; teacher ');
  return { runtime: runtime!, teacherDigest };
}
