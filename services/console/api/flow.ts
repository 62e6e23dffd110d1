import type { FastifyInstance } from 'fastify';
import { topics } from '../../../shared/events/define-event.ts';
import { sum } from '../../../shared/lang/numbers.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import { diskUse } from '../../../shared/runtime/disk-use.ts';
import { askServices, lagOfFolds } from '../look-around.ts';
import type { ConsoleDeps } from './console-deps.ts';
import type { Flow } from './shapes.ts';

/** Letters per answer */
const LETTERS = 50;

/** Topics, folds, services, disk and audit: looked at when a page asks, at most once per second. */
export function registerFlow(server: FastifyInstance, deps: ConsoleDeps): void {
  const { config, data, log, model, audits, logAway } = deps;
  const lookAtLog = async (): Promise<Flow['log']> => {
    if (logAway() !== null) return null;
    const [folds, ends] = await Promise.all([
      lagOfFolds(log),
      Promise.all(topics.map((topic) => log.ends(topic))),
    ]);
    const counted = topics.map((topic, index) => ({ topic, records: sum(ends[index]!), ends: ends[index]! }));
    return { topics: counted, folds };
  };
  const look = async (): Promise<Pick<Flow, 'log' | 'services' | 'disk'>> => {
    const [inLog, services, disk] = await Promise.all([
      lookAtLog().catch((error: unknown) => {
        if (isLogError(error, 'LogUnavailable')) return null;
        throw error;
      }),
      askServices(config),
      diskUse(data, model.firstTime()),
    ]);
    return { log: inLog, services, disk };
  };
  let [looked, at]: [ReturnType<typeof look> | undefined, number] = [undefined, 0];

  server.get('/api/flow', async (): Promise<Flow> => {
    if (looked === undefined || performance.now() - at > 1_000) [looked, at] = [look(), performance.now()];
    const seen = await looked.catch((error: unknown) => {
      looked = undefined;
      throw error;
    });
    const { count, latest } = model.letters();
    return {
      ...seen,
      letters: { count, latest: latest.slice(0, LETTERS) },
      audit: audits.last() ?? null,
      queue: config.queue,
    };
  });

  server.post('/api/audit', async (_request, reply) => reply.code(202).send(audits.start()));
}
