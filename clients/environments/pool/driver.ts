import { z } from 'zod';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { EnvironmentDriver } from '../environment.ts';
import { request } from './connection.ts';
import { guiPool } from './gui.ts';
import type { PoolKind } from './kind.ts';
import { createPool } from './pool.ts';
import { swePool } from './swe.ts';
import { terminalPool } from './terminal.ts';

type Settings = {
  /** http address of the server */
  readonly url: string;
  /** terminal, gui or swe */
  readonly kind: string | undefined;
  /** ms for one action */
  readonly actLimitMs: number;
  /** ms between two signs of life of a lease */
  readonly heartbeatMs?: number;
};

/** ms: the servers take a lease back after 600 s of silence, unless a request states another time */
const HEARTBEAT = 30_000;
/** ms */
const HEALTH_LIMIT = 10_000;

/**
 * Environments of a pool server of OpenClaw-RL. One lease per attempt, which a heartbeat keeps alive.
 *
 * @throws UsageError when there is no such kind of pool
 */
export function poolDriver(settings: Settings): EnvironmentDriver {
  switch (settings.kind) {
    case 'terminal':
      return driverOf(terminalPool, settings);
    case 'gui':
      return driverOf(guiPool, settings);
    case 'swe':
      return driverOf(swePool, settings);
    default:
      throw new UsageError(
        `--env pool needs --pool-kind terminal, gui or swe${settings.kind === undefined ? '' : `, not '${settings.kind}'`}`,
      );
  }
}

function driverOf<Row>(
  kind: PoolKind<Row>,
  { url, kind: name, actLimitMs, heartbeatMs = HEARTBEAT }: Settings,
): EnvironmentDriver {
  const pool = createPool({ url, heartbeatMs, closeLimitMs: kind.closeLimitMs });
  return {
    tasks: async () => {
      throw new UsageError('a pool server does not list its tasks: name them with --data');
    },
    prepare: async (tasks) => {
      const named = tasks.map((task) => {
        try {
          return { name: plainName(kind.read(task.data).name) || task.name, data: task.data };
        } catch (error) {
          if (!(error instanceof z.ZodError)) throw error;
          throw new UsageError(`${task.name} is not a task of a ${name} pool: ${reasonOf(error)}`);
        }
      });
      await checkHealth(url);
      return named;
    },
    open: (task, options) => kind.open(pool, kind.read(task).row, { ...options, actLimitMs }),
    close: pool.settled,
    remarks: pool.remarks,
  };
}

/** Sessions begin with a task's name. */
const plainName = (name: string): string => name.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 64);

/** The faults of the data, in the form with a wrapper if the data have the wrapper, otherwise in the plain form. */
function reasonOf(error: z.ZodError): string {
  const [first] = error.issues;
  const forms = first?.code === 'invalid_union' ? first.errors : [error.issues];
  const depth = (form: (typeof forms)[number]) => Math.max(...form.map(({ path }) => path.length));
  const nearest = forms.reduce((best, form) => (depth(form) >= depth(best) ? form : best));
  return nearest.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}

/** @throws UsageError when no pool server answers. A busy server is accepted, and awaited later. */
async function checkHealth(url: string): Promise<void> {
  const answer = await request(`${url}/healthz`, undefined, { limitMs: HEALTH_LIMIT });
  if (answer.kind === 'silent') throw new UsageError(`no pool server answers at ${url}: ${answer.reason}`);
  if (answer.kind === 'refused' && answer.status !== 429 && answer.status < 500)
    throw new UsageError(`${url} is not a pool server: /healthz answers with ${answer.reason}`);
}
