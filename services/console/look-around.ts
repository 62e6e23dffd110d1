import { z } from 'zod';
import type { ConsoleConfig } from '../../shared/config/console.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { EventLog } from '../../shared/log/event-log.ts';

export type ServiceState = {
  readonly name: string;
  readonly url: string;
  readonly state: 'ready' | 'not ready' | 'down' | 'unknown';
  /** what is missing */
  readonly detail: string;
  readonly obligations: Readonly<Record<string, number>>;
  readonly queue: { readonly name: string; readonly counts: Readonly<Record<string, number>> } | null;
  /** Bull Board, where it is mounted */
  readonly board: string | null;
};

export type FoldLag = {
  readonly group: string;
  readonly reads: Topic;
  /** records that it has not read */
  readonly lag: number;
  readonly stopped: string | null;
};

/** Of a service's `/jobs`; a service without a queue has none. */
const Jobs = z.object({ queue: z.string(), counts: z.record(z.string(), z.number()) });

/** ms to wait for a service */
const PATIENCE_MS = 2_000;

const folds: readonly { readonly group: string; readonly reads: Topic }[] = [
  { group: 'attribute', reads: 'conversations' },
  { group: 'judge', reads: 'turns' },
  { group: 'assemble', reads: 'turns' },
  { group: 'submit', reads: 'training' },
  { group: 'trainer', reads: 'training' },
];

export async function lagOfFolds(log: Pick<EventLog, 'lag' | 'ends'>): Promise<readonly FoldLag[]> {
  return Promise.all(
    folds.map(async ({ group, reads }) => {
      const shares = await log.lag(group);
      const lag =
        shares.length === 0
          ? sum(await log.ends(reads))
          : sum(shares.map(({ position, end }) => end - position));
      return {
        group,
        reads,
        lag,
        stopped: shares.find(({ stopped }) => stopped !== undefined)?.stopped ?? null,
      };
    }),
  );
}

/** Asks each service how it is. */
export function askServices(config: ConsoleConfig): Promise<readonly ServiceState[]> {
  const withQueue = new Set(['judge', 'trainer']);
  const addresses = {
    serving: config.servingUrl,
    collector: config.collectorUrl,
    judge: config.judgeUrl,
    trainer: config.trainerUrl,
  };
  return Promise.all(
    Object.entries(addresses).map(async ([name, address]) => {
      if (address === 'unknown') return unknown(name);
      const url = address.replace(/\/+$/, '');
      const hasQueue = withQueue.has(name);
      const hasBoard = hasQueue && config.queue === 'redis';
      const [ready, metrics, jobs, board] = await Promise.all([
        ask(`${url}/readyz`),
        name === 'serving' ? undefined : ask(`${url}/metrics`),
        hasQueue ? ask(`${url}/jobs`) : undefined,
        hasBoard ? ask(`${url}/board`) : undefined,
      ]);
      return {
        name,
        url,
        ...stateOf(ready),
        obligations: obligationsIn(metrics?.text ?? ''),
        queue: queueIn(jobs?.text),
        // it asks for its key; without one in the settings there is no board
        board: board === undefined || board.status === 404 ? null : `${url}/board`,
      };
    }),
  );
}

/** The system chose its health port. */
const unknown = (name: string): ServiceState => ({
  name,
  url: '',
  state: 'unknown',
  detail: 'its health port is chosen by the system',
  obligations: {},
  queue: null,
  board: null,
});

type Answer = { readonly ok: boolean; readonly status: number; readonly text: string };

const ask = (url: string): Promise<Answer | undefined> =>
  fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: 'error' }).then(
    async (response) => ({ ok: response.ok, status: response.status, text: await response.text() }),
    () => undefined,
  );

function stateOf(ready: Answer | undefined): Pick<ServiceState, 'state' | 'detail'> {
  if (ready === undefined) return { state: 'down', detail: 'does not answer' };
  if (ready.ok) return { state: 'ready', detail: '' };
  const missing = /"missing":"([^"]*)"/.exec(ready.text)?.[1] ?? '';
  return { state: 'not ready', detail: missing };
}

/** Lines such as `clawloop_open_obligations{kind="votes",service="judge"} 3`. */
const obligationsIn = (metrics: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...metrics.matchAll(/^clawloop_open_obligations\{[^}]*kind="([^"]+)"[^}]*\} (\d+)/gm)].map(
      ([, kind, count]) => [kind!, Number(count)],
    ),
  );

function queueIn(text: string | undefined): ServiceState['queue'] {
  try {
    const parsed = Jobs.safeParse(JSON.parse(text ?? ''));
    return parsed.success ? { name: parsed.data.queue, counts: parsed.data.counts } : null;
  } catch {
    return null;
  }
}
